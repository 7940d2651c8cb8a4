"""Words and signs by which numbers and ages are read. No suite replaces them."""

NUMBERS = r"""
magnitude_dozen: Words after a number that multiply it by 12.
    dozen

magnitude_2: Words after a number that multiply it by a hundred.
    hundred 百

magnitude_3: The same, by a thousand.
    k K thousand 千 천

magnitude_4: The same, by ten thousand.
    万 萬 만

magnitude_5: The same, by a hundred thousand.
    lakh

magnitude_6: The same, by a million.
    M MM mn mln mio Mio million

magnitude_7: The same, by ten million.
    crore

magnitude_8: The same, by a hundred million.
    億 亿 억

magnitude_9: The same, by a billion.
    B bn Bn BN Mrd billion milliard

magnitude_12: The same, by a trillion.
    T tn trillion 兆 조

money_magnitudes: Letters that mean the magnitudes M, B and T next to a currency, and a unit elsewhere.
    m b t

currency_codes: Codes of currencies that may be joined to a number: EUR1985.
    AED AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KES KRW MXN MYR NGN NOK NZD PEN PHP
    PKR PLN RMB RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR Rs Fr kr

times_of_day: Words after a number that make it a time of day.
    am pm a.m p.m o'clock Uhr

ranks: Endings that make a number an ordinal.
    st nd rd th

months: Names of months: days and years next to one are a date.
    jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov
    november dec december januar februar märz mai juni juli oktober dezember janvier février mars avril juin juillet
    août septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre octubre
    noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre janeiro fevereiro março
    maio junho julho setembro outubro novembro dezembro januari februari maart mei augustus

weekdays: Days of the week: a fraction next to one is a date (`9/12`).
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun

date_words: Words directly before a fraction that make it a date (`on 9/12`).
    on since until till due dated date dates day deadline today tomorrow yesterday expires expired expiring starting
    starts ending ends weekend monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs
    fri sat sun am vom bis seit datum le depuis jusqu'au el desde hasta

year_words: Words after which a number from 1900 to 2099 is a year.
    in since during until till year fy early late mid

id_words: Words after which digits without a separator are an identifier, unless a unit follows.
    id ids no nr num number numbers ref reference order ticket issue pr case invoice room step page section item line
    version build flight gate chapter table option phase level part figure account customer booking request task job run
    batch unit model port row week day rule form suite

units: Units that make a number an amount, whatever word comes before it.
    % percent $ € £ ¥ ₹ dollars euros pounds yen rupees cents km m mi miles metres meters kg g lb lbs l litres liters ms
    s seconds min minutes h hours days weeks months years gb mb kb tb °c °f degrees pieces items points times

names_with_digits: Idioms in which digits do not count anything.
    24/7 50/50 9/11 20/20

approximations: Words before a number that allow it to be rounded to the digits shown.
    about; almost; approximately; approx; approx.; around; ca; ca.; circa; close to; just over; just under; less than;
    more than; nearly; over; roughly; some; under

percentage_names: Words in the name of a value that make it a percentage: an answer may state the difference of two of
them.
    percent percentage pct rate rates ratio share

whole_names: Names of values that are the whole of something: nothing is added to them.
    total of overall all capacity limit

multiples: Words after a number that make it a factor.
    x × times fold

small_numbers: Number words from one on. They are read only if they count what the user asked about or what a result
contains.
    one two three four five six seven eight nine ten eleven twelve

teens: Numbers in words, from 13 on.
    thirteen fourteen fifteen sixteen seventeen eighteen nineteen

tens: Numbers in words, by tens from 20 on.
    twenty thirty forty fifty sixty seventy eighty ninety

unread_magnitudes: Magnitudes of other languages, as regexes: a number before one is not read.
    mil mille mila tausend tsd duizend tus(?:en|ind) tuhat\w* tys(?:i[ąa]c\w*|i[ąa]ce|ięcy)? tis[ií]c\w* ezer bin ribu
    ngh[iì]n ng[aà]n mill mil+[ij]?(?!onn?[aä][ier])[oóôõöã]\w* milj\w+ milh\w+ mily\w+ juta tri[eệ]u t[yỷỉ] mi?ln mio
    ml?rd mld mlrd mill?i[aá]rd\w* bilj\w+ bilh\w+ bill?i[oóõ]\w+ billones trill?i\w+ trilh\w+ dutzend douzaines?
    docenas? d[uú]zias? dozzin[ae] hundert honderd hundra hundrede grand kk тыс\w* тисяч\w* хиляд\w* млн млрд
    м[иі]лл?[иь]\w* сот(?:ен|ни) χιλι\w+ εκατ\w* δισ\w* ألف آلاف الف مليون ملايين مليار هزار میلیون میلیارد אלף אלפים
    מיליון מיליארד हज़ार हजार लाख करोड़ करोड अरब मिलियन হাজার লক্ষ কোটি

unread_joined_magnitudes: The same in scripts without a space after a word.
    พัน หมื่น แสน ล้าน

unread_number_words: Numbers in words of other languages, as regexes: they are not read.
    \w*zwanzig\w* \w*dreißig\w* \w*vierzig\w* \w*fünfzig\w* \w*sechzig\w* \w*siebzig\w* \w*achtzig\w* \w*neunzig\w*
    \w*hundert\w* \w*tausend\w* vingt trente quarante cinquante soixante mille veinte treinta cuarenta cincuenta sesenta
    setenta ochenta noventa cien ciento venti trenta quaranta cinquanta sessanta settanta ottanta novanta
"""

AGES = r"""
age_seconds: Units of age: seconds.
    s sec secs second seconds

age_minutes: Units of age: minutes.
    m min mins minute minutes

age_hours: Units of age: hours.
    h hr hrs hour hours

age_days: Units of age: days.
    d day days

age_weeks: Units of age: weeks.
    w wk wks week weeks

age_fortnights: Units of age: fortnights.
    fortnight fortnights

age_months: Units of age: months.
    mo mos month months

age_years: Units of age: years.
    y yr yrs year years

age_decades: Units of age: decades.
    decade decades

may_be_older: Words before an age that mean it may be older.
    more than; over; at least; at the least; older than; longer than; no less than; not less than; no newer than;
    upward of; upwards of; beyond; exceeding; in excess of; above; a minimum of; minimum; well past; >; >=; ≥

or_older: Words after an age that mean the same.
    +; or more; or older; or longer; or over; and more; and older; at least; plus

perhaps_older: Words before a time that mean it may be the age.
    perhaps; maybe; possibly; probably; if not; or even; could be; may be; might be

age_fillers: Words that may come between a time and the word that makes it a duration.
    about almost another approximately around nearly only roughly some the

lengths: Nouns after which a time is a duration, not an age.
    duration interval length limit maximum minimum period timeout window eta uptime runtime downtime

lasting: Words directly before a time that say how long something goes on, whatever else the sentence says.
    continue continues continued continuing every lasted lasting lasts persist persists ran run running runs spans spent
    take taken takes taking took until valid waited waiting waits within

span_words: Words directly before a time that make it a duration or put it in the future.
    after during each first for in last least most next over past per previous throughout

no_nouns: Words ending in `s` that may follow a one-letter unit without being what it counts.
    across afterwards ago always as besides does has hers his is its less minus ours perhaps plus regardless sometimes
    theirs this thus towards unless us vs was yes yours

age_links: Other words after a one-letter unit that show it is a unit of time.
    and are at but by for from in now of on or so the to until were while with

counted_nouns: Nouns after `5m` that make it millions.
    accounts arr budget calls children clients customers devices documents dollars downloads euros events files funding
    hits impressions installs items lines members men messages orders parameters people players pounds queries records
    requests revenue rows sales sessions subscribers tokens transactions units users views visitors visits women

measured: Words after `5m` that may make it metres.
    above away below dash deep high long race run sprint tall walk wide

shapes: Nouns after `3d` that make it dimensions.
    animation array chart design engine film game graph graphics image map matrix mesh model modeling modelling object
    plot print printed printer printing render rendering scan scanner scene shape space vector view visualisation
    visualization world

past_days: Past days and periods that data may be from, with a known maximum age.
    yesterday; the day before; last night; this morning; this afternoon; this week; last week; this month; last month;
    last quarter; last year

data_taken: Words before a time that say the data is from then, as regexes.
    as (?:of|at); cached; captured; collected; crawled; dated; exported; fetched; gathered; generated; imported;
    ingested; loaded; measured; pulled; recorded; refreshed; retrieved; sampled; snapshot; sync(?:ed|hroni[sz]ed)?;
    taken; timestamp; updated; last (?:data|export|fetch|import|refresh|run|seen|sync|update); age; freshness

age_units_elsewhere: Seconds, minutes, hours, days, weeks, months and years in other languages, as regexes.
    sekunden?|secondes?|segundos?|second[oi]|seconden|секунд\w*|秒钟?|초
    minuten?|minutes?|minutos?|minut[oi]|минут\w*|分钟?|분
    stunden?|heures?|horas?|or[ae]|uur|uren|час\w*|小时|時間|시간
    tag(?:en?)?|jours?|d[ií]as?|giorn[oi]|dag(?:en)?|дн\w+|день|天|日
    wochen?|semaines?|semanas?|settiman[ae]|weken|недел\w+|周|週間
    monat(?:en?)?|mois|mes(?:es)?|mes[ei]|maand(?:en)?|месяц\w*|个月|か月|ヶ月
    jahr(?:en?)?|ans?|ann[ée]es?|a[ñn]os?|ann[oi]|jaar|лет|год\w*|年

days_gone_elsewhere: Past days and periods in other languages, as regexes: such ages are not read.
    gestern; vorgestern; gisteren; eergisteren; ayer; anteayer; anoche; ieri; avantieri; ontem; anteontem; avant-hier;
    i går; igår; eilen; wczoraj; przedwczoraj; včera; dün; вчера; позавчера; учора;
    (?:letzte[rnms]?|vorige[rnms]?|vergangene[rnms]?) (?:woche|nacht|monats?|quartals?|jahr(?:e?s)?);
    vorig(?:e week|e maand|e nacht|jaar); vorig jaar; semana pasada; mes pasado; año pasado; semana passada;
    mês passado; ano passado; semaine (?:dernière|passée); mois (?:dernier|passé); an(?:née)? derni(?:er|ère);
    settimana scorsa; mese scorso; anno scorso; прошл\w+ (?:недел\w+|месяц\w*|год\w*)

joined_days_gone: The same in scripts without spaces between words.
    昨天 昨日 前天 上周 上个月 去年 先週 先月 昨年 어제 그저께 지난주 지난달

weekdays_elsewhere: Days of the week in other languages.
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag lundi mardi mercredi jeudi vendredi samedi
    dimanche lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì venerdì sabato
    domenica maandag dinsdag woensdag donderdag vrijdag zaterdag zondag

data_elsewhere: Words of other languages before a time that say the data is from then, as regexes.
    stand; datenstand; aktualisiert; abgerufen; geladen; erhoben; vom; von; seit; état; données; mise?s? à jour;
    actualisée?s?; depuis; datos; actualizad[oa]s?; desde; dati; aggiornat[oaie]; dal; dados; atualizad[oa]s?;
    bijgewerkt; gegevens; sinds; van; oppdatert; uppdaterad; opdateret; zaktualizowano; обновлен\w*; данные; от; за; с;
    de; d'; di; da
"""
