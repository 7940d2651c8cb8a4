"""Words by which a user agrees to what the agent proposes, or refuses it, in several languages."""

CONSENT = """
consent: The user agrees to what the agent proposes (`@yes` in a rule).
    yes; yeah; yep; yup; yea; ok; okay; k; sure; absolutely; definitely; certainly; of course; agreed; correct; fine;
    perfect; alright; all right; affirmative; confirm; confirmed; confirming; confirms; i confirm; i agree;
    i approve; approved; i accept; i consent; go ahead; go for it; proceed; please do; do it; let's do it;
    let's do that; let's go; let's proceed; let's go (ahead|with); sounds (good|great|fine|right|perfect);
    looks (good|great|fine|right|correct|perfect);
    that's (right|correct|fine|good|great|perfect|ok|okay|all right|it);
    that is (right|correct|fine|good|great|perfect|ok|okay|all right);
    that (works|sounds good|would be great|would be perfect|would work|will work|will do);
    works for me; you may; you can; you have my (permission|consent|approval|go-ahead); i'm (ok|okay|fine|good) with;
    i am (ok|okay|fine|good) with; i'd like to (proceed|go ahead|do that|continue); i want to (proceed|go ahead);
    i would like to (proceed|go ahead|do that|continue); please (book|cancel|change|complete|continue|exchange|finalize|
        finalise|go|make|modify|place|process|return|send|submit|update|upgrade); you got it; that's the one;
    (book|cancel|change|exchange|return|send) (it|them|both|that|all of them|the (entire|whole) order) then;

no_consent: Words of `consent` that agree to nothing, such as "make sure".
    (make|makes|making|be) sure; (can|could) (we|you) (please |)proceed; help me proceed;
    (okay|ok), (can|could|how|how about|i found|i have|i need|i want|if possible|let me|
        let's try|one|so|try|what|where);

consent_de: The same in German (`@yes:de`).
    ja; jawohl; jo; klar; gerne; gern; genau; richtig; stimmt; okay; ok; einverstanden; in ordnung; passt; natürlich;
    sicher; selbstverständlich; bestätigt; bestätige; ich bestätige; ich stimme zu; bitte (ausführen|buchen|fortfahren|
        machen|stornieren|weiter); machen sie (das|es|weiter); mach (das|es|weiter); nur zu; auf jeden fall;

consent_es: The same in Spanish (`@yes:es`).
    sí; claro; por supuesto; de acuerdo; vale; correcto; exacto; confirmo; confirmado; adelante; hágalo; hazlo; proceda;
    procede; está bien; perfecto; acepto; ok; okay;

consent_fr: The same in French (`@yes:fr`).
    oui; d'accord; bien sûr; absolument; certainement; exact; exactement; correct; parfait; je confirme; confirmé;
    allez-y; vas-y; faites-le; fais-le; ça marche; c'est bon; entendu; volontiers; j'accepte; ok; okay;

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
"""
