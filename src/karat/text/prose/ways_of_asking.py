"""Ways of asking for something, around the words for it. Patterns read prose: small letters, one sentence at a time."""

from typing import Final, NamedTuple

import regex

from karat.text.prose.sentences import spaced
from karat.text.regexes import lazy

_GIVE: Final = (
    "(?:give|send|share|provide|tell|enter|type|specify|state|supply|upload|attach|choose|select|pick|name|describe"
    "|explain|indicate|confirm|clarify|include|add|submit|forward|show|paste|post|quote|identify|report|mention|say"
    "|email|text|list|verify|double-check|re-?check|(?:provide|supply|leave) (?:me|us) with|try (?:it )?again with"
    "|fill (?:in|out)|(?:reply|respond|answer|get back to (?:me|us)) with|let (?:me|us) (?:know|have)"
    "|hand (?:me|us|over))"
)
_GIVING: Final = "(?:giving|sending|sharing|providing|telling|entering|typing|specifying|stating|confirming|describing)"
_TO_OTHERS: Final = "(?! (?:you|him|her|them|it)(?! to\\b)\\b)"
_POLITE: Final = r"(?: (?:please|kindly|also|just|maybe|possibly|perhaps|quickly|briefly|then|first|simply|now))*"
_SO: Final = r"(?: (?:still|also|just|only|first|then|now|really|simply|therefore|please|at least))*"
_BREAKS: Final = (
    "if|whether|when|because|unless|how|where|why|so|but|that|since|while|until|before|after|once|using|with"
)
_GAP: Final = rf"(?:[,:(]?[\s\"'(:*-]*(?!(?:{_BREAKS})\b)[\w'’/&-]+){{0,14}}?[\s\"'(:,*-]*\Z"
"""The words between a way of asking and the thing: none of them begins another clause."""

_WITH: Final = (
    r"(?: (?:is|are|was|were|would|will|might|should|shall|be|of|the|a|an|your|this|that|these|those|it|my|its"
    r"|kind|type|sort|exact|exactly|specific|full|complete|correct|current|own|other|new|old|name|and))*"
)
_NO_NOUN: Final = (
    "can|could|do|does|did|to|with|about|for|if|should|shall|will|would|i|we|you|he|she|they|in|on|at|from|has|have|had"
    r"|happen\w*|make|makes|made|about|concerning|regarding|questions?|problems?|issues?|using|not"
)
_OWN: Final = rf"(?: (?!(?:{_NO_NOUN})\b)[\w'’-]+){{0,2}}[\s\"'*(]*\Z"
"""Words that belong to the thing, such as `full shipping` before `address`."""

QUESTION_WORD: Final = lazy.regex(
    "what|which|when|where|who|whom|whose|why|how|was|wer|wann|wo|wie|warum|welche[rsnm]?|wofür"
    "|quel(?:le)?s?|quand|où|qui"
    "|pourquoi|comment|combien|qué|cuál(?:es)?|cuándo|dónde|quién|cómo|cuánt[oa]s?|quale|quali|quando|dove|chi|perché"
    "|qual|quais|onde|quem|wat|welke?|wanneer|waar|waarom|hoe|что|кто|когда|где|почему|како[йе]|какая|какие|сколько"
)

QUESTION_BEFORE: Final = lazy.regex(
    spaced(
        rf"\b(?:what|which|who)(?:'s|’s|'re)?{_WITH}{_OWN}"
        rf"|\bhow (?:many|much)(?: of)?(?: the| your)?{_OWN}"
        rf"|\b(?:do|did) you(?: (?:already|still|also|happen to|perhaps|maybe))*"
        rf" (?:have|know|remember|recall)\b(?! that\b){_WITH}{_OWN}"
        rf"|\bhave you got{_WITH}{_OWN}|\b(?:is|are) there(?: (?:a|an|any|some))?{_OWN}"
        r"|\b(?:prefer|rather have|would you like|do you want|should it be|shall it be|is it|are you)\b(?=.*\bor\b).*\Z"
        r"|\b(?:prefer|rather have|would you like|do you want|should it be|shall it be|is it|are you)\b.*\bor\b.*\Z"
    )
)
FRAGMENT_BEFORE: Final = lazy.regex(
    r"\W*(?:(?:and|also|ok|okay|so|then|first|next|great|thanks|thank you|sure|alright|the|your|a|an|any|maybe|please"
    r"|und|et|y|e|en|ihre?|deine?|votre|su|tu|uw|je|die|der|das|le|la|el|il|o|het|de|bitte|merci)\b\W*){0,6}"
)
FRAGMENT_AFTER: Final = lazy.regex(
    r"(?:\W*\b(?:please|again|if (?:any|you have (?:it|one))|bitte|s'il vous plaît|por favor|per favore"
    r"|alstublieft|in mind|at hand|handy|yet)\b)?\W*"
)

REQUEST_BEFORE: Final = lazy.regex(
    spaced(
        rf"(?:\A\W*|[,;:(]\s*|\b(?:please|kindly)\b,?\s*)(?:(?:then|so|now|first|just|also|simply|please"
        rf"|kindly|to \w+),? )*"
        rf"{_GIVE}\b{_TO_OTHERS}{_GAP}"
        rf"|\b(?:can|could|would|will|might) (?:you|u){_POLITE}(?: be (?:able|so kind as) to)?(?: mind)?{_POLITE}"
        rf" (?:{_GIVE}|{_GIVING})\b{_TO_OTHERS}{_GAP}"
        rf"|\bare you able to {_GIVE}\b{_GAP}"
        rf"|\b(?:can|may|could|might) (?:i|we){_POLITE} (?:have|get|know|see|ask(?: you)?(?: for| about)?)\b{_GAP}"
        rf"|\b(?:i|we)(?:'ll|’ll|'d|’d| will| would| do| may| might| must| should)?{_SO}"
        r" (?:need|require|want|lack|miss|like|request|ask(?: you)? for|(?:have to|must) (?:know|have|ask(?: you)? for)"
        r"|(?:am|are) (?:still )?(?:missing|lacking|looking for|waiting for|asking for))"
        rf"(?: you to {_GIVE}| to (?:know|have|see|get|ask(?: you)?(?: for)?|verify|confirm|check)"
        rf"|(?! (?:you )?to\b| (?:a |some |one |another |more )?(?:moment|minute|second|time|bit)\b))\b{_GAP}"
        rf"|\b(?:i|we)(?:'m|’m|'re|’re) (?:still )?(?:missing|lacking|looking for|waiting for|asking for){_GAP}"
        rf"|\b(?:if|once|as soon as) you(?:'ll|’ll|'d|’d| will| can| could"
        rf"| would)?{_POLITE} {_GIVE}\b{_TO_OTHERS}{_GAP}"
        rf"|\b(?:once|as soon as) (?:i|we) (?:have|know|get|receive){_GAP}"
        rf"|\byou(?:'ll|’ll| will)?{_SO} (?:(?:need|have) to|must){_POLITE} {_GIVE}\b{_TO_OTHERS}{_GAP}"
        rf"|\b(?:cannot|can't|can not|unable|not able|impossible)\b[^.;]{{0,80}}\bwithout(?: \w+){{0,3}} \Z"
        rf"|(?:\A\W*|[,;(]\s*)(?:still )?(?:missing|required|needed)(?: (?:information|details?|fields?"
        rf"|data))?\s*:{_GAP}"
    )
)
REQUEST_AFTER: Final = lazy.regex(
    spaced(
        r"[\"'*)]*(?: (?:and|or)(?: \w+){1,4})?(?: (?:is|are)|'s)(?: (?:still|also))? (?:needed|required"
        r"|missing|necessary"
        r"|mandatory)\b|\W{0,3}please\W*\Z|[^.;]{0,60}[,;] please\W*\Z"
        r"|[\"'*):]*[^\w.]{0,4}(?:please (?:fill|enter|provide|give|type)\b|_{3,})"
    )
)
WITHOUT: Final = lazy.regex(spaced(r"\bwithout(?: [\w'’-]+){0,3} \Z"))
CANNOT: Final = lazy.regex(r"\b(?:cannot|can't|can’t|can not|unable|not able|won't be able|impossible)\b")
NAMED_BEFORE: Final = lazy.regex(
    spaced(
        r"\b(?:no|not|never|without any|no need (?:for|to)|don't|doesn't|needn't|do not|does not|no longer"
        r"|already|cannot|can't"
        r"|kein\w*|nicht|pas|aucun\w*|ningún\w*|geen|niet|nessun\w*|nenhum\w*|не)\b"
        r"(?<!\b(?:cannot|can't|can not|not able)\b.{0,80})[\w'\x20,-]{0,60}\Z"
    )
)
"""Before words that are named and not asked for."""
NAMED_AFTER: Final = lazy.regex(
    spaced(
        r"[\w'\x20]{0,30}\b(?:is|are|was|were)(?:n't| not| no longer)\b|[^.;]{0,20}(?:not|no longer"
        r"|n't) (?:needed|required|necessary)"
        r"|\s*[:=]\s*\w[\w-]*\d"
    )
)
ASIDE: Final = lazy.regex(
    spaced(
        r"\b(?:for example|for instance|e\.g\.|such as|thanks? (?:you )?for|(?<!\b(?:may|can|could|might|once"
        r"|if|as) )i (?:have|found|see|got|checked|used))\b[^?]*\Z"
    )
)
"""Words that follow are given as an example, or are there already."""
LEADS_TO_LIST: Final = lazy.regex(
    spaced(
        rf"(?:\A\W*|[,;(.!]\s*|\bplease,? )(?:then |so |first |also |just )?{_GIVE}\b[^.?!]*(?:[:?]\s*\Z"
        rf"|\bfollowing\b|\bthese\b)"
        rf"|\b(?:can|could|would|will) you{_POLITE} (?:{_GIVE})\b[^.!]*[:?]\s*\Z"
        rf"|\b(?:i|we)(?:'ll|’ll|'d|’d| will| would)?{_SO} (?:need|require|like to know"
        rf"|want to know)\b[^.?!]*(?::\s*\Z|\bfollowing\b)"
        r"|\b(?:missing|required|needed)\b[^.?!]{0,40}:\s*\Z"
        r"|\b(?:ich|wir) (?:brauche|benötige)n?\b[^.?!]*:\s*\Z|\bbitte\b[^.?!]*:\s*\Z|\b(?:j'ai"
        r"|nous avons) besoin\b[^.?!]*:\s*\Z"
        r"|\bveuillez\b[^.?!]*:\s*\Z|\bnecesit\w+\b[^.?!]*:\s*\Z|\bho bisogno\b[^.?!]*:\s*\Z|\bpreciso\b[^.?!]*:\s*\Z"
    )
)


class WaysOfAsking(NamedTuple):
    """Those of one language: a question word before the thing, or a request in its sentence; and what denies them."""

    before: regex.Pattern[str]
    anywhere: regex.Pattern[str]
    denied: regex.Pattern[str]

    def requests(self, sentence: str) -> bool:
        """Whether a sentence tells somebody to give something, or that it is needed."""
        return self.anywhere.search(sentence) is not None and self.denied.search(sentence) is None

    def asks(self, sentence: str, before: str) -> bool:
        """Whether a sentence asks for what stands behind `before` in it."""
        if self.denied.search(sentence):
            return False
        return self.requests(sentence) or (
            sentence.rstrip("\"')]»” ").endswith(("?", "？")) and self.before.search(before) is not None
        )


def _ways(before: str, anywhere: str, denied: str) -> WaysOfAsking:
    return WaysOfAsking(*(regex.compile(spaced(pattern)) for pattern in (before, anywhere, denied)))


_FEW: Final = r"(?: [\w'’-]+){0,3}[\s«\"(]*\Z"

OTHER_LANGUAGES: Final = (
    _ways(  # German
        rf"\b(?:wie (?:lautet|lauten|ist|heißt)|was (?:ist|sind|war)|welche[rsnm]?|haben sie|hast du|gibt es){_FEW}",
        r"\bbitte\b.*\b(?:nenn|geb|gib|schick|send|teil|verrat|sag|wähl|bestätig|übermitt|beschreib|lad|angeb"
        r"|mitteil|eingeb)\w*"
        r"|\A\W*(?:nenn|gib|geben|schick|send|teil|verrat|sag|wähl|bestätig)\w*\b.*\b(?:mir|uns|sie|bitte)\b"
        r"|\b(?:könn|würd|kannst|wär)\w* (?:sie|du|ihr)\b.*\b(?:nenn|geb|schick|send|mitteil|verrat|sag"
        r"|bestätig|angeb)\w*"
        r"|\bdarf ich\b.*\b(?:haben|wissen|erfahren|fragen)\b"
        r"|\b(?:ich|wir) (?:brauche|brauchen|benötige|benötigen|bräuchten?)\b|\b(?:brauche|benötige"
        r"|bräuchte)n? (?:ich|wir)\b"
        r"|\b(?:mir|uns|es) fehl(?:t|en)\b|\bfehl(?:t|en) (?:mir|uns|noch)\b",
        r"\b(?:nicht|kein\w*|nie|ohne dass)\b|\bsoll ich\b|\bfalls sie\b",
    ),
    _ways(  # French
        rf"\b(?:quel(?:le)?s?(?: est| sont)?|avez-vous|as-tu|c'est quoi){_FEW}",
        r"\b(?:pou(?:vez|rriez)-vous|peux-tu|pourrais-tu|voulez-vous bien|vous pouvez)\b.*\b(?:donner|envoyer|indiquer"
        r"|communiquer|préciser|fournir|dire|confirmer|partager|transmettre)\b"
        r"|\bveuillez\b.*\b(?:donner|envoyer|indiquer|communiquer|préciser|fournir|confirmer|saisir|choisir|entrer)\b"
        r"|\b(?:donnez|envoyez|indiquez|communiquez|précisez|fournissez|dites|confirmez|donne|envoie|indique"
        r"|dis)-(?:moi|nous)\b"
        r"|\bpuis-je (?:avoir|connaître|savoir|demander)\b|\b(?:j'ai|j'aurai|j'aurais|nous avons) (?:encore )?besoin\b"
        r"|\bil (?:me|nous) (?:faut|faudrait|manque)\b|\bs'il vous plaît\b.*\?",
        r"\b(?:pas|aucun\w*|jamais|plus besoin)\b",
    ),
    _ways(  # Spanish
        rf"(?:\b|¿)(?:cuál(?:es)?(?: es| son)?|qué|tiene|tienes|me (?:da|das|dice|dices|indica)){_FEW}",
        r"\b(?:pued[eo]s?|podría[sn]?)\b.*\b(?:dar|decir|enviar|indicar|proporcionar|facilitar|confirmar"
        r"|compartir)(?:me|nos)?\b"
        r"|\b(?:deme|dime|dígame|indique|indíqueme|indícame|envíe|envíeme|envíame|proporcione|facilite"
        r"|facilíteme|confirme"
        r"|confirma|comparta|introduzca|elija)\b|\b(?:necesito|necesitamos|necesitaría|me falta|nos falta)\b",
        r"\b(?:no|ningún\w*|nunca)\b",
    ),
    _ways(  # Italian
        rf"\b(?:qual(?:e|i)?(?: è| sono)?|che|ha|hai|mi (?:dà|dai|dice|indica)){_FEW}",
        r"\b(?:può|puoi|potrebbe|potresti)\b.*\b(?:dare|dir|dar|inviar|fornir|indicar|confermar|comunicar)(?:mi|ci|e)\b"
        r"|\b(?:mi dia|dimmi|mi dica|indichi|invii|fornisca|conferma|confermi|inserisca|mi serve|mi servono|ci serve"
        r"|ho bisogno|abbiamo bisogno|mi manca)\b",
        r"\b(?:non|nessun\w*|mai)\b",
    ),
    _ways(  # Portuguese
        rf"\b(?:qual(?: é)?|quais(?: são)?|que|você tem|tem|me (?:dá|diz|informa)){_FEW}",
        r"\b(?:pode|poderia|podes)\b.*\b(?:dar|dizer|enviar|informar|fornecer|indicar|confirmar|compartilhar)\b"
        r"|\b(?:informe|envie|forneça|indique|diga-me|me diga|confirme|insira|preciso|precisamos|falta-me|me falta)\b",
        r"\b(?:não|nenhum\w*|nunca)\b",
    ),
    _ways(  # Dutch
        rf"\b(?:wat is|wat zijn|welke?|heeft u|heb je){_FEW}",
        r"\b(?:kunt|kun|kan|zou|wilt|wil) (?:u|je|jij)\b.*\b(?:geven|sturen|noemen|doorgeven|vertellen|delen"
        r"|bevestigen|opgeven)\b"
        r"|\A\W*(?:geef|stuur|noem|vertel|deel|vul|kies)\b.*|\bgraag\b.*\b(?:ontvangen|weten|opgeven|doorgeven)\b"
        r"|\b(?:ik|we|wij) (?:heb|hebben)\b.*\bnodig\b|\bmag ik\b.*\b(?:hebben|weten)\b|\bheb ik\b.*\bnodig\b",
        r"\b(?:niet|geen|nooit)\b",
    ),
    _ways(  # Russian
        r"\b(?:како[йевм]|какая|какие|каков[аы]?|есть ли у вас)(?: [\w-]+){0,3}\s*\Z",
        r"\b(?:укажите|назовите|сообщите|пришлите|отправьте|скажите|подскажите|введите|уточните|выберите"
        r"|предоставьте)\b"
        r"|\b(?:мне|нам) (?:ещё |также )?(?:нуж\w+|потреб\w+|необходим\w*)\b|\bне могли бы вы\b.*\b(?:указать"
        r"|назвать|сообщить)\b",
        r"\bне (?:нуж\w+|требу\w+|указывайте|присылайте|сообщайте|отправляйте)\b|\bбез\b",
    ),
    _ways(  # Japanese
        r"(?!)",
        r"(?:を|は)[^。？]{0,12}(?:教えて|お知らせ|入力して|ご?提示|お?送り|送って|ご?記入|お聞かせ|ご?連絡)[^。？]{0,12}"
        r"|は(?:何|いくつ|どちら|いつ|どこ|どれ)|が必要です|をお願い",
        r"(?:必要|不要)(?:は|では)?(?:あり|ござい)ません|不要です|お知らせします|お送りします",
    ),
    _ways(  # Chinese
        r"(?!)",
        r"(?:请|麻烦|能否|能不能|可以|可否)[^。？！]{0,6}(?:提供|告诉|告知|发|输入|说明|填写|给|选择|确认)"
        r"|(?:是多少|是什么|是几|是哪)|需要(?:您|你)",
        r"(?:不需要|无需|不用|不必|请勿)",
    ),
)
"""Beside English, whose ways hang more on the order of words."""
