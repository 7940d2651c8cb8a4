"""Words of consent and refusal, and what makes a yes none."""

CONSENT = """
consent: The user agrees to what the agent proposes (`@yes` in a rule).
    yes; yeah; yep; yup; yea; ok; okay; k; sure; absolutely; definitely; certainly; of course; agreed; correct; fine;
    perfect; alright; all right; affirmative; confirm; confirmed; confirming; confirms; i confirm; i agree; i approve;
    approved; i accept; i consent; go ahead; go for it; proceed; please do; do it; let's do it; let's do that;
    let's go; let's proceed; let's go (ahead|with); sounds (good|great|fine|right|perfect);
    looks (good|great|fine|right|correct|perfect);
    that's (right|correct|fine|good|great|perfect|ok|okay|all right|it);
    that is (right|correct|fine|good|great|perfect|ok|okay|all right);
    that (works|sounds good|would be great|would be perfect|would work|will work|will do); works for me; you may;
    you can; you have my (permission|consent|approval|go-ahead); i'm (ok|okay|fine|good) with;
    i am (ok|okay|fine|good) with; i'd like to (proceed|go ahead|do that|continue); i want to (proceed|go ahead);
    i would like to (proceed|go ahead|do that|continue); please (book|cancel|change|complete|continue|exchange|
        finalize|finalise|go|make|modify|place|process|return|send|submit|update|upgrade); you got it; that's the one;
    (book|cancel|change|exchange|return|send) (it|them|both|that|all of them|the (entire|whole) order) then;

no_consent: Words of `consent` that agree to nothing, such as "make sure".
    (make|makes|making|be) sure; (can|could) (we|you) (please |)proceed; help me proceed; (okay|ok)(,|) (can|could|
        how|how about|i found|i have|i need|i want|if possible|let me|let's try|one|so|try|what|where); fine print;
    てはい; ではい; はいけ; はいく; はいつ;

consent_de: The same in German (`@yes:de`).
    ja; jawohl; jo; jap; klar; genehmigt; bitte tun sie das; tun sie es; los geht's; das passt; so machen wir es;
    gerne; gern; genau; richtig; stimmt; okay; ok; einverstanden; in ordnung; passt; natürlich; sicher;
    selbstverständlich; bestätigt; bestätige; ich bestätige; ich stimme zu;
    bitte (ausführen|buchen|fortfahren|machen|stornieren|weiter); machen sie (das|es|weiter); mach (das|es|weiter);
    nur zu; auf jeden fall;

consent_es: The same in Spanish (`@yes:es`).
    sí; desde luego; adelante con (ello|eso|la|el); me parece bien; dale; autorizo; claro; por supuesto; de acuerdo;
    vale; correcto; exacto; confirmo; confirmado; adelante; hágalo; hazlo; proceda; procede; está bien; perfecto;
    acepto; ok; okay;

consent_fr: The same in French (`@yes:fr`).
    oui; ouais; je suis d'accord; je valide; poursuivez; continuez; procédez; ça me va; d'accord; bien sûr;
    absolument; certainement; exact; exactement; correct; parfait; je confirme; confirmé; allez-y; vas-y; faites-le;
    fais-le; ça marche; c'est bon; entendu; volontiers; j'accepte; ok; okay;

consent_it: The same in Italian (`@yes:it`).
    sì; si, (certo|grazie|va bene|procedi|proceda|confermo); certo; certamente; d'accordo; va bene; va benissimo; ok;
    okay; perfetto; esatto; giusto; confermo; confermato; proceda; procedi; procediamo; proceda pure; faccia pure;
    fai pure; lo faccia; fallo; accetto; approvo; volentieri; per me va bene;

consent_ja: The same in Japanese (`@yes:ja`).
    はい; ええ; お願いします; お願い致します; お願いいたします; 了解です; 了解しました; 承知しました; 同意します;
    承認します; 賛成です; 進めてください; 進めて下さい; 続けてください; 続けて下さい; 実行してください;
    そうしてください; それでいいです; いいですよ; 結構ですので進めて; 問題ありません; 問題ないです; 大丈夫です;
    もちろん; どうぞ; オーケー; オッケー;

consent_nl: The same in Dutch (`@yes:nl`).
    ja; jawel; jazeker; zeker; prima; goed; akkoord; oké; ok; okay; natuurlijk; uiteraard; klopt; correct; perfect;
    graag; ga (uw|je|maar) gang; ga (maar |)door; doe (het|maar|dat); ik bevestig; bevestigd; ik ga akkoord; mee eens;
    in orde; dat is goed;

consent_pt: The same in Portuguese (`@yes:pt`).
    sim; claro; com certeza; certamente; de acordo; concordo; está bem; está certo; tudo bem; ok; okay; perfeito;
    correto; exato; confirmo; confirmado; prossiga;
    pode (prosseguir|continuar|fazer|ir em frente|confirmar|cancelar|reservar); siga em frente; vá em frente;
    faça isso; aceito; autorizo; beleza; por mim tudo bem;

consent_zh: The same in Chinese (`@yes:zh`).
    是的; 对的; 对，; 好的; 好，; 好吧; 好啊; 行，; 行的; 可以; 没问题; 沒問題; 同意; 确认; 確認; 当然; 當然; 没错;
    沒錯; 请继续; 請繼續; 继续吧; 請進行; 请进行; 就这么办; 就這麼辦; 请办理; 嗯，; 嗯嗯; 批准;

dissent: The user refuses what the agent proposes (`@no` in a rule).
    no; nope; nah; not now; not yet; never mind; nevermind; don't; do not; stop; wait; hold on; hold off; forget it;
    i (decline|refuse|disagree|object); i changed my mind; i've changed my mind; leave it; rather not; cancel that;
    absolutely not; certainly not; of course not;

dissent_de: The same in German (`@no:de`).
    nein; nee; nicht; lieber nicht; auf keinen fall; stopp; halt; warten sie; warte; abbrechen; vergessen sie es;
    vergiss es; ich lehne ab;

dissent_es: The same in Spanish (`@no:es`).
    no; todavía no; aún no; para; espere; espera; olvídelo; olvídalo; mejor no; me niego; rechazo; claro que no;

dissent_fr: The same in French (`@no:fr`).
    non; pas encore; pas maintenant; arrêtez; arrête; attendez; attends; laissez tomber; laisse tomber; plutôt pas;
    je refuse; surtout pas;

dissent_it: The same in Italian (`@no:it`).
    no; non ancora; non ora; non adesso; aspetti; aspetta; si fermi; fermati; lasci stare; lascia stare;
    lascia perdere; meglio di no; mi rifiuto; rifiuto; certo che no; assolutamente no; anzi no;

dissent_ja: The same in Japanese (`@no:ja`).
    いいえ; いや; やめて; やめます; やめておきます; 止めて; 待って; 待ってください; お待ちください; 結構です;
    遠慮します; 拒否します; だめです; ダメです; 中止;

dissent_nl: The same in Dutch (`@no:nl`).
    nee; neen; nog niet; niet nu; wacht; wacht even; stop; laat maar; liever niet; ik weiger; zeker niet;
    absoluut niet; niet doen; toch niet; doe maar niet;

dissent_pt: The same in Portuguese (`@no:pt`).
    não; ainda não; agora não; espere; espera; pare; para; deixa para lá; deixe para lá; esqueça; esquece;
    melhor não; recuso; de jeito nenhum; claro que não;

dissent_zh: The same in Chinese (`@no:zh`).
    不; 不要; 不用; 不行; 不可以; 不同意; 不是; 还没; 還沒; 等一下; 等等; 等一等; 停; 停下; 算了; 取消吧; 拒绝; 拒絕;
    别; 先别; 先別;

plain_no: A `no` that may answer another question, so that it takes no yes back (`Yes, proceed. No, nothing else`).
    no; nope; nah; nein; nee; neen; non; não; いいえ; いや; 不; 不用; 不是; 不要;

consent_denials: Earlier in the clause of a word of consent, next to `denials`: it is none.
    non; mai; niet; geen; nooit; keineswegs; keinesfalls; under no circumstances; 不; 别; 別; 勿; 没有; 未;

consent_denied_before: Directly before a word of consent: it is none (`not sure`, `a fine`, `maybe ok`).
    a; an; the; its; not; never; hardly; (maybe|perhaps|possibly|almost|nearly); nicht; kein; keine; nie; vielleicht;
    no; nunca; quizás; tal vez; pas; jamais; peut-être; forse; misschien; não; talvez; 不; 别; 別; 勿; 不太; 没有;
    未; 先别; 先別; 也许; 可能;

consent_denied_after: Directly after a word of consent: it is none (`absolutely not`, `claro que no`).
    not; never; no way; in no way; nicht; niemals; nie; keineswegs; auf keinen fall; que no; no; nunca; pas; jamais;
    que non; non; che no; mai; (mir|uns|ist|so|leider|noch|gar|überhaupt) ... (nicht|nichts);
    (helemaal|nog|toch|het|me|mij) ... (niet|niets); (with |to |about |)(neither|none|nothing); nichts; nada; rien;
    niente; nulla; niets; niet; nooit; não; que não; 不; 不行; 不可以; 不同意; しません; しない; ではありません;
    じゃない; ではない;

retractions: Later in the message than a yes: it is taken back.
    (i've |i have |i |)changed my mind; (just |only |i'm |i am |)(kidding|joking); scratch that; never mind;
    nevermind; forget it; forget that; hold on; hold off; hang on; not so fast;
    wait (a|one) (bit|minute|moment|sec|second); wait (until|till|for); on second thought; on second thoughts;
    i take (it|that) back; (maybe|or|better|rather) not; not (yet|now|today); actually(,|) (no|not|don't|wait|stop);
    (actually|wait|no) (do not|don't);
    (don't|do not) (proceed|go ahead|do (it|that|this|anything|so)|continue|confirm);
    (don't|do not|not) ... (until|till|before|yet|unless); i'd rather (not|you didn't|wait); let me think;
    i need to think; doch nicht; lieber nicht; noch nicht; moment mal; einen moment; warte; warten sie;
    war nur (ein |)(scherz|spaß); ich habe es mir anders überlegt; (mach|machen sie|tun sie) (das|es) nicht;
    vergiss es; vergessen sie es; mejor no; todavía no; aún no; espera; espere; era broma; es broma;
    (he cambiado|cambié) de (idea|opinión); pensándolo bien; olvídalo; olvídelo; no lo (haga|hagas);
    finalement non; en fait non; pas encore; pas tout de suite; attendez; attends; je plaisante; je rigole;
    j'ai changé d'avis; laissez tomber; laisse tomber; ne le (faites|fais) pas; anzi no; non ancora; aspetti;
    aspetta; scherzo; scherzavo; ho cambiato idea; ripensandoci; lascia stare; lasci stare; lascia perdere;
    non (farlo|lo faccia); meglio di no; toch niet; nog niet; wacht; grapje; ik heb me bedacht; laat maar;
    doe het niet; liever niet; melhor não; ainda não; brincadeira; estou brincando; mudei de ideia; pensando bem;
    esqueça; esquece; deixa (para lá|pra lá); não faça (isso|nada); やっぱり; やはりやめ; 待って; お待ちください;
    冗談; まだ; やめて; 気が変わ; 等一下; 等等; 等一等; 算了; 开玩笑; 開玩笑; 改变主意; 改變主意; 还是不; 還是不;
    还是别; 還是別; 先别; 先別; 先不要; 还没; 還沒; 反悔;

consent_conditions: In the same clause as a yes, before or after it: it is a conditional one.
    if; unless; until; till; before; when; whenever; once; provided; providing; assuming; as long as; as soon as;
    in case; on condition; but first; only after; after (i|you|we|my|your|the|they|he|she); wenn; falls; sobald;
    sofern; solange; bis; bevor; ehe; vorausgesetzt; erst; nachdem; si; cuando; hasta; antes; en cuanto; siempre que;
    a menos que; a condición; quand; lorsque; dès; jusqu'à; avant; à moins; à condition; une fois; quando;
    finché; fino a; prima (di|che|devo|voglio); appena; se; a meno; a patto; caso; até; assim que; desde que;
    a menos; contanto; als; indien; wanneer; zodra; totdat; tot (ik|je|u|we); voordat; tenzij; mits; nadat; もし;
    場合; まで; 前に; たら; なら; れば; なければ; ないなら; 如果; 要是; 除非; 直到; 之前; 以前; 等我; 等你; 只要;
    的话; 的話; 再说; 再說;

consent_limits: Between a yes and such a word: `yes, but only if`.
    but; only; just; and; aber; nur; pero; solo; sólo; mais; seulement; ma; mas; só; maar; alleen; 但; 不过; ただし;

no_conditions: Phrases that contain a word of `consent_conditions` and set no condition.
    (even|as) if; even when; no matter if; whether or not; (if|when|whenever|where|as soon as) (possible|convenient|
        necessary|needed|you can|you could|you're ready|you are ready|you get a chance|you don't mind|you like|
        you want|you would); once (again|more); at once; after all; when it comes to; as usual;
    so schnell wie möglich; sobald wie möglich; wenn möglich; auch wenn; si es posible; lo antes posible;
    cuanto antes; antes de nada; aunque; si possible; dès que possible; même si; s'il (vous|te) plaît; se possibile;
    anche se; prima possibile; appena possibile; se possível; assim que possível; mesmo se; zo snel mogelijk;
    als (dat |)kan; indien mogelijk; (以|之)前一样; それなら; それでしたら;

consent_reports: After a yes: these words are about something else.
    let me know (if|when|once|before|after); (tell|notify|email|text|call|inform) me (if|when|once|before|after);

question_openings: A sentence that begins with these asks, also without a question mark.
    (am|are|is|was|were) (i|we|you|it|this|that|there|the|they);
    (can|could|should|would|will|shall|may|might|must) (i|we|you|it|this|that|there|the|they|someone|anyone);
    (do|does|did|have|has) (i|we|you|they|the); (does|did|has) (it|this|that|he|she); isn't (it|that|this); (what|how|
        why|where|which|who) (is|are|am|do|does|did|if|about|can|could|should|will|would|happens|much|many|long|to|
        else); (soll|sollen|kann|können|könnten|darf|dürfen|muss|müssen|ist|sind|haben|hat|wird|werden|
        möchten) (ich|wir|sie|es|das|dies|die|der|du);
    (was|wie|warum|wann|wo) (ist|sind|kostet|passiert|viel|lange|kann|muss|soll); (puis-je|peut-on|pouvez-vous|
        pourriez-vous|dois-je|devrais-je|est-ce|est-il|qu'est-ce|combien|pourquoi|comment); ¿;
    (posso|possiamo|può|potrebbe|dovrei|devo); (mag|kan|kunt|zal|moet) (ik|u|je|jij|we|het);

consent_fillers: Between the beginning of a question and a yes (`Well, yes please, can you …`).
    ah; alright; and; great; hello; hey; hi; hm; hmm; oh; please; so; thank you; thanks; then; well; bitte; danke;
    gracias; por favor; merci; bonjour; grazie; per favore; prego; obrigado; obrigada; dank; alsjeblieft; alstublieft;
    那; 谢谢; ありがとうございます; では; それでは;
"""
