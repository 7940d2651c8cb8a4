"""The words by which ages are read, as published lists: a name, one sentence, its entries."""

from karat.text.words.word_list import WordList, lines, words

_HOUR = 60.0
_DAY = 24 * _HOUR


def _list(name: str, about: str, entries: tuple[str, ...]) -> WordList:
    return WordList(name, about, entries, replaceable=False)


def _units(name: str, entries: str) -> WordList:
    return WordList(f"age_{name}", f"Units of age: {name}.", tuple(entries.split()), replaceable=False)


AGE_UNITS = (
    (1 / 60, _units("seconds", "s sec secs second seconds")),
    (1.0, _units("minutes", "m min mins minute minutes")),
    (_HOUR, _units("hours", "h hr hrs hour hours")),
    (_DAY, _units("days", "d day days")),
    (7 * _DAY, _units("weeks", "w wk wks week weeks")),
    (14 * _DAY, _units("fortnights", "fortnight fortnights")),
    (30 * _DAY, _units("months", "mo mos month months")),
    (365 * _DAY, _units("years", "y yr yrs year years")),
    (3650 * _DAY, _units("decades", "decade decades")),
)
"""Each with how many minutes it has."""
MAY_BE_OLDER = WordList(
    "may_be_older",
    "Words before an age that mean it may be older.",
    (
        *("more than", "over", "at least", "at the least", "older than", "longer than", "no less than"),
        *("not less than", "no newer than", "upward of", "upwards of", "beyond", "exceeding", "in excess of", "above"),
        *("a minimum of", "minimum", "well past", ">", ">=", "≥"),
    ),
    replaceable=False,
)
OR_OLDER = WordList(
    "or_older",
    "Words after an age that mean the same.",
    ("+", "or more", "or older", "or longer", "or over", "and more", "and older", "at least", "plus"),
    replaceable=False,
)
PERHAPS = WordList(
    "perhaps_older",
    "Words before a time that mean it may be the age.",
    ("perhaps", "maybe", "possibly", "probably", "if not", "or even", "could be", "may be", "might be"),
    replaceable=False,
)
AGE_FILLERS = _list(
    "age_fillers",
    "Words that may come between a time and the word that makes it a duration.",
    words("about almost another approximately around nearly only roughly some the"),
)
LENGTHS = _list(
    "lengths",
    "Nouns after which a time is a duration, not an age.",
    words("duration interval length limit maximum minimum period timeout window eta uptime runtime downtime"),
)
SPAN_WORDS = _list(
    "span_words",
    "Words directly before a time that make it a duration or put it in the future.",
    words(
        "after during each every first for in last lasted lasting lasts least most next over past per previous spans "
        "spent take taken takes taking throughout took until waited waiting waits within"
    ),
)
NO_NOUNS = _list(
    "no_nouns",
    "Words ending in `s` that may follow a one-letter unit without being what it counts.",
    words(
        "across afterwards ago always as besides does has hers his is its less minus ours perhaps plus regardless "
        "sometimes theirs this thus towards unless us vs was yes yours"
    ),
)
LINKS = _list(
    "age_links",
    "Other words after a one-letter unit that show it is a unit of time.",
    words("and are at but by for from in now of on or so the to until were while with"),
)
COUNTED_NOUNS = _list(
    "counted_nouns",
    "Nouns after `5m` that make it millions.",
    words(
        "accounts arr budget calls children clients customers devices documents dollars downloads euros events files "
        "funding hits impressions installs items lines members men messages orders parameters people players pounds "
        "queries records requests revenue rows sales sessions subscribers tokens transactions units users views "
        "visitors visits women"
    ),
)
MEASURED = _list(
    "measured",
    "Words after `5m` that may make it metres.",
    words("above away below dash deep high long race run sprint tall walk wide"),
)
SHAPES = _list(
    "shapes",
    "Nouns after `3d` that make it dimensions.",
    words(
        "animation array chart design engine film game graph graphics image map matrix mesh model modeling modelling "
        "object plot print printed printer printing render rendering scan scanner scene shape space vector view "
        "visualisation visualization world"
    ),
)
PAST_DAYS = _list(
    "past_days",
    "Past days and periods that data may be from, with a known maximum age.",
    lines("""
        yesterday; the day before; last night; this morning; this afternoon; this week; last week; this month;
        last month;
        last quarter; last year
    """),
)
DATA_TAKEN = _list(
    "data_taken",
    "Words before a time that say the data is from then, as regexes.",
    lines("""
        as (?:of|at); cached; captured; collected; crawled; dated; exported; fetched; gathered; generated; imported;
        ingested; loaded; measured; pulled; recorded; refreshed; retrieved; sampled; snapshot; sync(?:ed|hroni[sz]ed)?;
        taken; timestamp; updated; last (?:data|export|fetch|import|refresh|run|seen|sync|update); age; freshness
    """),
)
UNITS_ELSEWHERE = _list(
    "age_units_elsewhere",
    "Seconds, minutes, hours, days, weeks, months and years in other languages, as regexes.",
    words(r"""
        sekunden?|secondes?|segundos?|second[oi]|seconden|секунд\w*|秒钟?|초
        minuten?|minutes?|minutos?|minut[oi]|минут\w*|分钟?|분
        stunden?|heures?|horas?|or[ae]|uur|uren|час\w*|小时|時間|시간
        tag(?:en?)?|jours?|d[ií]as?|giorn[oi]|dag(?:en)?|дн\w+|день|天|日
        wochen?|semaines?|semanas?|settiman[ae]|weken|недел\w+|周|週間
        monat(?:en?)?|mois|mes(?:es)?|mes[ei]|maand(?:en)?|месяц\w*|个月|か月|ヶ月
        jahr(?:en?)?|ans?|ann[ée]es?|a[ñn]os?|ann[oi]|jaar|лет|год\w*|年
    """),
)
DAYS_GONE = _list(
    "days_gone_elsewhere",
    "Past days and periods in other languages, as regexes: such ages are not read.",
    lines(r"""
        gestern; vorgestern; gisteren; eergisteren; ayer; anteayer; anoche; ieri; avantieri; ontem; anteontem;
        avant-hier;
        i går; igår; eilen; wczoraj; przedwczoraj; včera; dün; вчера; позавчера; учора
        (?:letzte[rnms]?|vorige[rnms]?|vergangene[rnms]?) (?:woche|nacht|monats?|quartals?|jahr(?:e?s)?)
        vorig(?:e week|e maand|e nacht|jaar); vorig jaar; semana pasada; mes pasado; año pasado; semana passada;
        mês passado; ano passado; semaine (?:dernière|passée); mois (?:dernier|passé); an(?:née)? derni(?:er|ère);
        settimana scorsa; mese scorso; anno scorso; прошл\w+ (?:недел\w+|месяц\w*|год\w*)
    """),
)
JOINED_DAYS_GONE = _list(
    "joined_days_gone", "The same in scripts without spaces between words.",
    words("昨天 昨日 前天 上周 上个月 去年 先週 先月 昨年 어제 그저께 지난주 지난달"),
)  # fmt: skip
WEEKDAYS_ELSEWHERE = _list(
    "weekdays_elsewhere",
    "Days of the week in other languages.",
    words(
        "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag lundi mardi mercredi jeudi vendredi "
        "samedi dimanche lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì venerdì "
        "sabato domenica maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"
    ),
)
DATA_ELSEWHERE = _list(
    "data_elsewhere",
    "Words of other languages before a time that say the data is from then, as regexes.",
    lines(r"""
        stand; datenstand; aktualisiert; abgerufen; geladen; erhoben; vom; von; seit; état; données; mise?s? à jour;
        actualisée?s?; depuis; datos; actualizad[oa]s?; desde; dati; aggiornat[oaie]; dal; dados; atualizad[oa]s?;
        bijgewerkt; gegevens; sinds; van; oppdatert; uppdaterad; opdateret; zaktualizowano; обновлен\w*; данные; от; за;
        с; de; d'; di; da
    """),
)
LISTS = (
    *(one for _, one in AGE_UNITS), MAY_BE_OLDER, OR_OLDER, PERHAPS, AGE_FILLERS, LENGTHS, SPAN_WORDS, NO_NOUNS, LINKS,
    COUNTED_NOUNS, MEASURED, SHAPES, PAST_DAYS, DATA_TAKEN, UNITS_ELSEWHERE, DAYS_GONE, JOINED_DAYS_GONE,
    WEEKDAYS_ELSEWHERE, DATA_ELSEWHERE,
)  # fmt: skip
