"""Words behind a number that make it another one, in languages whose numbers are not read: "12 Millionen", "12万"."""

import re

from karat.text.regexes import lazy

_WORDS = (
    # Latin: thousands, then millions and what lies above, then dozens and hundreds, then slang.
    r"mil|mille|mila|tausend|tsd|duizend|tus(?:en|ind)|tuhat\w*|tys(?:i[ąa]c\w*|i[ąa]ce|ięcy)?|tis[ií]c\w*|ezer|bin|ribu"
    r"|ngh[iì]n|ng[aà]n|mill|mil+[ij]?(?!onn?[aä][ier])[oóôõöã]\w*|milj\w+|milh\w+|mily\w+|juta|tri[eệ]u|t[yỷỉ]|mi?ln|mio|ml?rd|mld|mlrd"
    r"|mill?i[aá]rd\w*|bilj\w+|bilh\w+|bill?i[oóõ]\w+|billones|trill?i\w+|trilh\w+"
    r"|dutzend|douzaines?|docenas?|d[uú]zias?|dozzin[ae]|hundert|honderd|hundra|hundrede|grand|kk"
    # Cyrillic and Greek
    r"|тыс\w*|тисяч\w*|хиляд\w*|млн|млрд|м[иі]лл?[иь]\w*|сот(?:ен|ни)|χιλι\w+|εκατ\w*|δισ\w*"
    # Arabic, Persian, Hebrew, Hindi, Bengali
    r"|ألف|آلاف|الف|مليون|ملايين|مليار|هزار|میلیون|میلیارد|אלף|אלפים|מיליון|מיליארד|हज़ार|हजार|लाख|करोड़|करोड|अरब|मिलियन|হাজার|লক্ষ|কোটি"
)
# These scripts put no space behind a word.
_JOINED_WORDS = "[百千万萬億亿兆]|천|만|억|조|พัน|หมื่น|แสน|ล้าน"
_POWER = r"[×x*·⋅][^\S\n]?10(?!\d)"
UNREAD_MAGNITUDE = lazy.pattern(rf"(?:[^\S\n]{{0,3}}|-)(?:(?:{_WORDS})(?!\w)|{_JOINED_WORDS}|{_POWER})", re.IGNORECASE)
