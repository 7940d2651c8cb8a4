"""The words and signs by which numbers are read, as published lists: a name, one sentence, its entries."""

from karat.text.words.word_list import WordList, words


def _list(name: str, about: str, entries: tuple[str, ...]) -> WordList:
    return WordList(name, about, entries, replaceable=False)


MAGNITUDES = (
    _list("magnitude_dozen", "Words after a number that multiply it by 12.", ("dozen",)),
    _list("magnitude_2", "Words after a number that multiply it by a hundred.", words("hundred 百")),
    _list("magnitude_3", "The same, by a thousand.", words("k K thousand 千 천")),
    _list("magnitude_4", "The same, by ten thousand.", words("万 萬 만")),
    _list("magnitude_5", "The same, by a hundred thousand.", ("lakh",)),
    _list("magnitude_6", "The same, by a million.", words("M mn mln mio Mio million")),
    _list("magnitude_7", "The same, by ten million.", ("crore",)),
    _list("magnitude_8", "The same, by a hundred million.", words("億 亿 억")),
    _list("magnitude_9", "The same, by a billion.", words("B bn Bn BN Mrd billion milliard")),
    _list("magnitude_12", "The same, by a trillion.", words("T tn trillion 兆 조")),
)
MONEY_MAGNITUDES = _list(
    "money_magnitudes",
    "Letters that mean the magnitudes M, B and T next to a currency, and a unit elsewhere.",
    words("m b t"),
)
CURRENCY_CODES = _list(
    "currency_codes",
    "Codes of currencies that may be joined to a number: EUR1985.",
    words(
        "AED AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KES KRW MXN MYR NGN NOK NZD "
        "PEN PHP PKR PLN RMB RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR Rs Fr kr"
    ),
)
TIMES_OF_DAY = _list(
    "times_of_day", "Words after a number that make it a time of day.", ("am", "pm", "a.m", "p.m", "o'clock", "Uhr")
)
RANKS = _list("ranks", "Endings that make a number an ordinal.", words("st nd rd th"))
MONTHS = _list(
    "months",
    "Names of months: days and years next to one are a date.",
    words(
        "jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october "
        "nov november dec december januar februar märz mai juni juli oktober dezember janvier février mars avril juin "
        "juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre "
        "octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre janeiro "
        "fevereiro março maio junho julho setembro outubro novembro dezembro januari februari maart mei augustus"
    ),
)
YEAR_WORDS = _list(
    "year_words", "Words after which a number from 1900 to 2099 is a year.",
    words("in since during until till year fy early late mid"),
)  # fmt: skip
ID_WORDS = _list(
    "id_words",
    "Words after which digits without a separator are an identifier, unless a unit follows.",
    words(
        "id ids no nr num number numbers ref reference order ticket issue pr case invoice room step page section item "
        "line version build flight gate chapter table option phase level part figure account customer booking request "
        "task job run batch unit model port row week day rule form suite"
    ),
)
UNITS = _list(
    "units",
    "Units that make a number an amount, whatever word comes before it.",
    words(
        "% percent $ € £ ¥ ₹ dollars euros pounds yen rupees cents km m mi miles metres meters kg g lb lbs l "
        "litres liters ms s seconds min minutes h hours days weeks months years gb mb kb tb °c °f degrees pieces items "
        "points times"
    ),
)
NAMES = _list("names_with_digits", "Idioms in which digits do not count anything.", ("24/7", "50/50", "9/11", "20/20"))
APPROXIMATIONS = _list(
    "approximations",
    "Words before a number that allow it to be rounded to the digits shown.",
    (
        *("about", "almost", "approximately", "approx", "approx.", "around", "ca", "ca.", "circa", "close to"),
        *("just over", "just under", "less than", "more than", "nearly", "over", "roughly", "some", "under"),
    ),
)
PERCENTAGE_NAMES = _list(
    "percentage_names",
    "Words in the name of a value that make it a percentage: an answer may state the difference of two of them.",
    words("percent percentage pct rate rates ratio share"),
)
MULTIPLES = _list("multiples", "Words after a number that make it a factor.", words("x × times fold"))
SMALL_NUMBERS = _list(
    "small_numbers",
    "Number words from one on. They are read only if they count what the user asked about or what a result contains.",
    words("one two three four five six seven eight nine ten eleven twelve"),
)
TEENS = _list("teens", "Numbers in words, from 13 on.", words(
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
))  # fmt: skip
TENS = _list("tens", "Numbers in words, by tens from 20 on.", words(
    "twenty thirty forty fifty sixty seventy eighty ninety"
))  # fmt: skip
VALUES = dict(
    zip((*SMALL_NUMBERS.entries, *TEENS.entries, *TENS.entries), (*range(1, 20), *range(20, 100, 10)), strict=True)
)
"""What each number in a word is."""
UNREAD_MAGNITUDES = _list(
    "unread_magnitudes",
    "Magnitudes of other languages, as regexes: a number before one is not read.",
    words(
        r"mil mille mila tausend tsd duizend tus(?:en|ind) tuhat\w* tys(?:i[ąa]c\w*|i[ąa]ce|ięcy)? tis[ií]c\w* ezer bin"
        r" ribu ngh[iì]n ng[aà]n mill mil+[ij]?(?!onn?[aä][ier])[oóôõöã]\w* milj\w+ milh\w+ mily\w+ juta tri[eệ]u"
        r" t[yỷỉ] mi?ln mio ml?rd mld mlrd mill?i[aá]rd\w* bilj\w+ bilh\w+ bill?i[oóõ]\w+ billones trill?i\w+ trilh\w+"
        r" dutzend douzaines? docenas? d[uú]zias? dozzin[ae] hundert honderd hundra hundrede grand kk"
        r" тыс\w* тисяч\w* хиляд\w* млн млрд м[иі]лл?[иь]\w* сот(?:ен|ни) χιλι\w+ εκατ\w* δισ\w*"
        " ألف آلاف الف مليون ملايين مليار هزار میلیون میلیارد אלף אלפים מיליון מיליארד"
        " हज़ार हजार लाख करोड़ करोड अरब मिलियन হাজার লক্ষ কোটি"
    ),
)
UNREAD_JOINED_MAGNITUDES = _list(
    "unread_joined_magnitudes",
    "The same in scripts without a space after a word.",
    words("พัน หมื่น แสน ล้าน"),
)
UNREAD_NUMBER_WORDS = _list(
    "unread_number_words",
    "Numbers in words of other languages, as regexes: they are not read.",
    words(
        r"\w*zwanzig\w* \w*dreißig\w* \w*vierzig\w* \w*fünfzig\w* \w*sechzig\w* \w*siebzig\w* \w*achtzig\w*"
        r" \w*neunzig\w* \w*hundert\w* \w*tausend\w* vingt trente quarante cinquante soixante mille veinte treinta"
        " cuarenta cincuenta sesenta setenta ochenta noventa cien ciento venti trenta quaranta cinquanta sessanta"
        " settanta ottanta novanta"
    ),
)
LISTS = (
    *MAGNITUDES, MONEY_MAGNITUDES, CURRENCY_CODES, TIMES_OF_DAY, RANKS, MONTHS, YEAR_WORDS, ID_WORDS, UNITS, NAMES,
    APPROXIMATIONS, PERCENTAGE_NAMES, MULTIPLES, SMALL_NUMBERS, TEENS, TENS, UNREAD_MAGNITUDES,
    UNREAD_JOINED_MAGNITUDES, UNREAD_NUMBER_WORDS,
)  # fmt: skip
