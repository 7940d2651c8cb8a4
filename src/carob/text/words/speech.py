"""Words by which an answer asks, refuses, admits and assumes, and a user agrees; what ends a sentence."""

from __future__ import annotations

ASKING = """
request: A sentence that contains one asks the user for something.
    kindly;
    please (also |)(choose|clarify|confirm|describe|enter|fill|give|identify|include|indicate|list|name|pick|provide|
        reply|respond|say|select|send|share|specify|state|submit|supply|tell|type|upload|verify);
    (can|could|would|will|might) you (please |kindly |also |)(choose|clarify|confirm|describe|enter|give|identify|
        indicate|let|list|name|pick|provide|say|select|send|share|specify|state|supply|tell|type|upload|verify);
    (can|could|may|might) (i|we) (have|get|know|ask);
    (i|we) (still |just |also |only |first |)(need|require)(:| a| an| both| her| his| its| more| one more| some| the|
        their| these| three| to know| two| you to| your);
    (i|we)('ll|'d) (still |just |also |)need;
    (i|we) (will|would) (still |just |also |)need;
    (i'd|we'd|i would|we would) (like|need) to (know|have|confirm);
    (i'm|i am|we're|we are) (still |)(missing|lacking|waiting for);
    (once|as soon as) (i|we) (have|know|get|receive);
    (once|as soon as) you (confirm|give|have|provide|send|share|tell) ... ...(,|) (i'll|i can|i will|
        we'll|we can|we will);
    (is|are) (still |also |)(missing|needed|required);
    (give|send|tell) (me|us) (a|an|how|its|the|their|what|when|where|which|who|your);
    (missing|needed|required) (information|details|fields):;
    (i|we) need ... from you;
    i need is;
    enter your;
    please try again with;
    , please.;
    (cannot|can't|unable to) ... without (a|an|the|your);
    without ... ...(,|) (i|we) (cannot|can't|won't|am unable|are unable);

request_de: The same in German.
    bitte ... ... (angeben|auswählen|beschreiben|bestätigen|eingeben|hochladen|mitteilen|nennen|schicken|senden);
    (beschreiben|geben|nennen|schicken|senden|teilen|sagen|wählen) (sie|sie mir|sie uns) (bitte |)(auch |noch |)(das|
        den|
        die|ein|eine|einen|ihr|ihre|ihren|mir|uns|bitte|welche|welchen|welches|wann|wie|wo);
    bitte (beschreiben|bestätigen|geben|nennen|schicken|senden|teilen|sagen|wählen);
    (ich|wir) (benötige|benötigen|brauche|brauchen) (bitte |dafür |dazu |noch |zuerst |zunächst |)(das|den|die|eine|
        einen|
        ein|ihr|ihre|ihren|folgende|zwei|drei);
    (sag|nenn|nenne|gib|schick|schicke) (mir|uns) (bitte |)(das|dein|deine|deinen|den|die|ein|eine|einen);
    (fehlt|fehlen) (mir|uns) noch;
    ohne (das|den|die|ein|eine|einen|ihr|ihre|ihren) ... ... (kann|können) (ich|wir);
    ohne ... ... (kann|können) (ich|wir) ... ... (nicht|nichts|kein|keine|keinen);

request_es: The same in Spanish.
    (dígame|díganos|dime|indíqueme|indíquenos|indícame|envíeme|envíenos|envíame|facilíteme|mándeme|proporcióneme|
        confírmeme) (el|la|los|las|su|sus|tu|tus|un|una|por|qué|cuál|cuándo|cómo|también);
    (indique|envíe|facilite|proporcione|introduzca|escriba|confirme|díganos|elija) (por favor |)(el|la|los|las|su|sus|
        un|
        una);
    (necesito|necesitamos) (todavía |aún |también |primero |)(el|la|los|las|su|sus|tu|tus|un|una|saber|conocer|que me);
    (me|nos) (falta|faltan);
    (puede|podría|puedes|podrías) (darme|decirme|indicarme|enviarme|facilitarme|confirmarme);
    , por favor.;
    sin ... ...(,|) no (puedo|podemos);

request_fr: The same in French.
    veuillez (aussi |)(m'|me |nous |)(choisir|communiquer|confirmer|décrire|donner|envoyer|fournir|
        indiquer|préciser|saisir|transmettre);
    merci de (m'|me |nous |)(communiquer|confirmer|donner|envoyer|fournir|indiquer|préciser);
    (indiquez|donnez|dites|envoyez|précisez|communiquez|fournissez)-(moi|nous);
    (indiquez|précisez|saisissez|fournissez|choisissez) (le|la|les|votre|vos|un|une);
    (j'ai|nous avons) (encore |aussi |d'abord |)besoin (de|du|des|d'un|d'une);
    il (me|nous|) manque;
    (pouvez-vous|pourriez-vous|peux-tu|pourrais-tu);
    , s'il vous plaît.;
    sans ... ...(,|) (je ne (peux|puis)|nous ne pouvons|impossible);

request_it: The same in Italian.
    (confermi|confermami|dammi|dica|dicami|dimmi|fornisca|fornisci|forniscimi|inserisca|inserisci|invia|inviami|invii|
        indica|indicami|indichi|manda|mandami|mandi|precisa|precisi|comunica|comunicami|comunichi|scegli|scelga|scrivi|
        scriva|specifica|specifichi|fornitemi|inviateci|inviatemi|indicateci|indicatemi) (anche |pure |gentilmente |
        per favore |)(come|dove|gli|i|il|l'|la|le|lo|qual|quale|quali|quando|suo|sua|tuo|tua|un|un'|una|uno|per favore);
    (mi|ci) (dica|dia|dai|dici|indichi|indica|fornisca|comunichi|comunica|invii|mandi|confermi|conferma|faccia sapere);
    (mi|ci) (manca|mancano|occorre|occorrono|serve|servirebbe|servono|servirà);
    (ho|abbiamo) (ancora |anche |prima |)bisogno (del|dello|della|dell'|dei|degli|delle|di|che|anche);
    (puoi|può|potresti|potrebbe|potete) (anche |gentilmente |per favore |)(dirmi|dirci|darmi|darci|indicarmi|indicarci|
        fornirmi|fornirci|inviarmi|inviarci|mandarmi|comunicarmi|comunicarci|confermarmi);
    (per favore|per cortesia|cortesemente|gentilmente) (conferma|confermi|dimmi|fornisca|fornisci|indica|indichi|
        inserisci|invia|invii|specifica|specifichi);
    , per (favore|cortesia).;
    senza ... ...(,|) non (posso|possiamo|riesco|riusciamo);

request_nl: The same in Dutch.
    (geef|stuur|vertel|noem|vermeld|bevestig|kies|selecteer|beschrijf|vul|voer) (mij |me |ons |eerst |ook |even |
        alstublieft |alsjeblieft |a.u.b. |)(a.u.b.|alstublieft|alsjeblieft|de|een|het|hier|hieronder|je|jouw|uw|welk|
        welke|wanneer|hoe|waar|wat|in|door);
    laat (me|mij|ons) weten (de|het|hoe|je|uw|waar|wanneer|wat|welk|welke);
    (ik|wij|we) (heb|hebben) (nog |ook |eerst |alleen |wel |)(de|een|het|je|jouw|uw) ... ... nodig;
    (heb|hebben) (ik|wij|we) (nog |ook |eerst |alleen |)(de|een|het|je|jouw|uw) ... ... nodig;
    (kunt u|kun je|kan je|zou u|zou je|wilt u|wil je) (mij |me |ons |)(de|een|het|je|jouw|uw) ... ... (geven|sturen|
        doorgeven|opgeven|noemen|bevestigen|vertellen);
    (graag|gelieve) (de |een |het |je |jouw |uw |) ... (door te geven|doorgeven|opgeven|sturen|vermelden|te vermelden);
    (graag|mag ik) (uw|je|jouw); ontbreekt nog; ontbreken nog; , (alstublieft|alsjeblieft|a.u.b.).;
    zonder ... ... (kan|kunnen) (ik|we|wij) ... ... (geen|niet|niets);

request_ru: The same in Russian.
    (укажите|сообщите|назовите|пришлите|отправьте|напишите|введите|подтвердите|предоставьте|уточните|выберите|скажите|
        дайте|подскажите|опишите);
    (укажи|сообщи|назови|пришли|отправь|напиши|введи|подтверди|уточни|выбери|скажи|дай|подскажи|опиши);
    (мне|нам) (ещё |еще |также |сначала |только |)(нужен|нужна|нужно|нужны|необходим|необходима|необходимо|необходимы|
        понадобится|понадобятся|потребуется|потребуются|требуется|требуются|не хватает);
    (можете ли|могли бы|не могли бы) вы;
    без ... ...(,|) (я |мы |)(не (могу|можем|смогу|сможем|получится|удастся)|невозможно);

request_pt: The same in Portuguese.
    (diga-me|diga-nos|informe|informe-me|indique|indique-me|envie|envie-me|forneça|confirme|escolha) (o|a|os|as|seu|
        sua|seus|
        suas|um|uma|por);
    (me diga|me informe|me envie|me passe) (o|a|os|as|seu|sua|um|uma|qual|quando);
    (preciso|precisamos) (ainda |também |primeiro |)(de|do|da|dos|das|saber|que me);
    (falta|faltam)-me;
    (pode|poderia|podia) (me |)(dizer|informar|enviar|dar|indicar|confirmar|passar|fornecer);
    , por favor.;
    sem ... ...(,|) não (posso|podemos|consigo|conseguimos);

request_ja: The same in Japanese; any question that ends in `か` is one as well.
    (教えて|お知らせ|入力して|お送り|ご記入|ご入力|ご提供|ご連絡|ご指定|選んで)(ください|下さい);
    (が|は)(ないと|なければ|わからないと) ...(ません|できない|かねます);
    が必要です; をお願いします; をお願いいたします; いただけますか;

request_zh: The same in Chinese; any question that ends in `吗` or `呢` is one as well.
    请(提供|告诉|告知|输入|发送|选择|确认|填写|说明|描述|上传); 麻烦(您|你|)(提供|告诉); 需要(您的|你的|知道|一个);
    還需要; 还需要; (没有|沒有|缺少|没) ...(无法|無法|不能|没法|不了);
    请(您|你)(提供|告诉|告知|输入|发送|选择|确认|填写|说明);

no_request_after: At the end of a sentence after a request: it is denied (`Ich brauche die Nummer nicht`).
    nicht; nicht mehr; niet; niet meer

no_request: Phrases that contain a word of request but ask for nothing.
    need (a|another|one|some|these|three|two) (bit|minute|minutes|moment|moments|more time|second|seconds|time);
    let (me|us) know if you need; (niet|geen) ... nodig; niet meer nodig; non (ho|abbiamo) (più |)bisogno;
    non (mi|ci) (serve|servono);

known_things: Earlier in the clause: the agent already has the thing and does not ask for it.
    already; (i've|we've) (found|got|located); (i|we) (found|located); (thanks|thank you) for;
    (schon|bereits); (danke|vielen dank) für; ya (tengo|tenemos|he|hemos); gracias por; (déjà|merci pour);
    (já (tenho|temos)|obrigado pela|obrigado pelo); già; grazie per; (heb ik al|heb al|hebben al|al gevonden);
    (bedankt|dank u|dank je) voor; уже; спасибо за

weak_request: Like `request`, unless the answer ends with a courtesy or the sentence contains one.
    let (me|us) know;
    feel free to (provide|send|share|tell);
    (if|should) you (could |can |)(confirm|give|provide|send|share|tell);

courtesy: Beginnings of questions that only offer more help; in a sentence with a weak request, they may be anywhere.
    (and |)is there (anything|something) (else|more|further);
    (any|anything|something|what|how) (else|more|further|other|questions|thoughts);
    (and |)(can|could|may|how can|how may|how else can|what else can) (i|we) (be of|do for you|help|assist);
    (do|did) you (have|need) (any|anything|some|something|further|more|other);
    (does|did|do) (that|this|it) (answer|help|look|make sense|sound|work);
    (is|was) (that|this|it|everything) (all|clear|fine|good|helpful|ok|okay|right);
    (guess|you know) what;
    if you need (anything|assistance|help);
    (if|should) (there is|there's|you have|you need) (any|anything|further|more|other);
    (if you have|if you need|have|need) (any|anything|further|more|other) (help|assistance|questions|question|else|
        concerns);
    (ok|okay|right|alright|ready|really|sound good|sounds good|make sense|makes sense|why|why not)?;
    want to know (more|why|how);

question_tags: Endings of questions that ask for nothing.
    , (agreed|alright|good|ok|okay|right);
    (aren't|doesn't|don't|isn't|wasn't|won't) (it|that|they|this|you);

unnamed: Words in an `asks_for` entry that need not be in the answer.
    a an any her his its my our some the their your
"""

OUTCOMES = """
refusal: The answer refuses, or states a limit.
    (i|we) (cannot|can't|can not|won't|will not|may not|must not|could not|couldn't);
    (i|we) (am|are|was|were) (unable|not able|not allowed|not authorised|not authorized|not permitted|not going to);
    (i'm|we're) (unable|not able|not allowed|not authorised|not authorized|not permitted|not going to);
    (i|we) (do not|don't) (do|have access|have permission|have the ability|offer|provide|share|support);
    (i|we) (only|just) (read|help|answer);
    (i|we) (have to|must) (decline|refuse|say no);
    (it|that|they|this|you) (cannot|can't|can not|may not|must not);
    (cannot|can't|can not|may not|must not) be;
    (is|are|was|were) (not|no longer|never) (able|allowed|authorised|authorized|available|eligible|offered|permitted|
        possible|supported);
    (is|are|was|were)n't (able|allowed|authorised|authorized|available|eligible|offered|permitted|possible|supported);
    's (not|no longer|never) (able|allowed|authorised|authorized|available|eligible|offered|permitted|possible|
        supported);
    (is|are) (against|outside|beyond) (our|my|the|company|what);
    (does not|doesn't|do not|don't) (accept|allow|cover|offer|permit|support);
    (unable|not able|not allowed|not permitted|not possible) to;
    (decline|declined|refuse|refused) to;
    (not|isn't) something (i|we);
    (forbidden|prohibited|impossible);

failure: The answer admits that something failed.
    (i|we) (cannot|can't|can not);
    (could not|couldn't);
    (did not|didn't|does not|doesn't) (complete|finish|go through|happen|respond|succeed|work);
    (has not|hasn't|have not|haven't|was not|wasn't|were not|weren't) (able|accepted|added|available|been|booked|
        changed|completed|created|done|found|made|possible|processed|saved|sent|successful|updated);
    (is not|isn't|are not|aren't) (available|possible|responding|working);
    (unable|not able|not possible) to;
    (fail|failed|fails|failing|failure|failures);
    (error|errors|exception);
    (problem|problems|trouble|difficulty|difficulties);
    (an issue|issues) (with|while|when|occurred|came up|on);
    (nothing|none of it) (was|has been) (added|booked|changed|done|made|saved|sent);
    not (been |)(found|successful|completed|processed);
    (offline|unavailable|unreachable|unresponsive);
    (is|are|was|were) down;
    (went|gone|go) wrong;
    (timed out|time-out|timeout);
    (rejected|refused|declined|denied|aborted);
    (unsuccessful|without success);
    (added|booked|changed|created|did|found|made|saved|sent) (no|none|nothing);

deed_denials: Directly before a word of `effects`: the answer admits that it was not done (`It wasn't extended`).
    (not|wasn't|weren't|isn't|aren't|hasn't|haven't);
    (not|wasn't|weren't|isn't|aren't|hasn't|haven't) (been|yet|been yet|yet been); (nicht|pas|não);
    no (ha|han) sido; n'a pas été

no_data: The answer says that data is missing, or is not what was requested.
    no (such|matching|account|answer|booking|bookings|customer|data|details|entries|entry|information|item|items|match|
        matches|order|orders|record|records|response|result|results|status|ticket|tickets|trace);
    (does not|doesn't|do not|don't|did not|didn't) (exist|know|see|have|contain|find|get|receive|recognise|recognize|
        include|return|match);
    nothing (was |is |)(found|returned|there|known|available);
    (not|never) (find|confirm|confirmed|complete|verify|verified|readable|known|received);
    (unreadable|unusable|incomplete|corrupt|corrupted|garbled|invalid|unexpected|inconsistent|outdated|stale);
    (missing|empty|blank);
    (another|a different|the wrong|a wrong|some other) (account|booking|case|client|customer|entry|invoice|item|order|
        person|product|record|ticket|user);
    (mismatch|mismatched);

data_age: The answer says how old its data is, or that it is out of date.
    as of;
    (last|latest|most recently) (update|updated|changed|checked|seen|known);
    (days|weeks|months|years) old;
    (out of date|out-of-date|no longer current|not up to date);

assumption: Markers of an assumption or of uncertainty.
    assumption; assumptions; assumes; assumed; assuming; uncertain; uncertainty; uncertainties; not certain; unclear;
    unverified; not enough data; insufficient data; incomplete data; missing data; based on available data;
    (cannot|can't|can not|could not|couldn't|unable to) (confirm|verify); (may|might) be (incomplete|stale);
    low confidence; medium confidence; confidence: low; confidence: medium

success_indicator: Words of success for `allocation_valid`.
    allocated; allocation confirmed; assigned; available; booked; confirmed; found; reserved; scheduled; success;
    successful; successfully

failure_indicator: Words of failure for `allocation_valid`.
    (already|all|fully|not|non-|un-)( |)(allocated|assigned|available|booked|reserved|scheduled);
    (allocated|assigned|booked|found|reserved|scheduled) (no|none|nothing|zero|0); booked (out|up); cannot; can't;
    (conflict|conflicts); could not; couldn't; denied; error; exceeds; failed; failure; impossible; incompatible;
    invalid; missing; no available; no compatible; none (is |)available; not available; not compatible; not confirmed;
    not found; not possible; not successful; not supported; overbooked; refused; rejected; unable; unavailable;
    unsuccessful

neutral_indicator: Phrases that contain a word of failure or denial but are good news.
    (no|without|without a|without any|zero|0) (conflict|conflicts|error|errors|failure|failures|issue|issues|overlap|
        overlaps|problem|problems);
    (did not|does not|doesn't|didn't) (conflict|exceed|overlap);
    (allocated|assigned|booked|reserved|scheduled) no (doubt|later|problem);
    (booked|found) no (conflict|conflicts|error|errors|issue|issues|overlaps|problem|problems);
    (conflicts|errors|issues|overlaps|problems|warnings) found;
"""

SENTENCES = """
titles: Abbreviations whose full stop never ends a sentence.
    approx dr e.g fig i.e mr mrs ms no prof st vs

abbreviations: Abbreviations whose full stop ends a sentence only if a capital letter follows.
    a.m dept e.t.a est etc ext inc jr ltd max min p.m sr tel u.k u.s vol
"""
