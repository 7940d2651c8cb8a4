"""Words by which an answer claims a deed, and those by which it does not."""

CLAIMS = """
claim_frames: Patterns in which a declared word X claims that the action was done. Adverbs of `claim_adverbs` may come
between the words. START is the start of a sentence or a list item, after any `lead_ins`; END is the end of one, or of a
clause; NOUN is one to four words, none of them in `no_headline`; REST is other words of the sentence, none of them in
`other_subjects`.
    (has|have|'s|'ve) been X; (i|we) X; (i|we) have X; (i|we)'ve X; (i|we) REST and X; (i|we)'ve REST and X;
    (i|we) REST and have X; (i|we)'ve REST and have X; (is|are|'s|'re) now X; (is|are|'s|'re) X END; successfully X;
    X successfully; START X; START NOUN X END

claim_frames_de: The same in German; FEW is up to six words. The frames of all languages hold for every suite.
    (wurde|wurden|ist|sind) FEW X; (habe|haben) FEW X; erfolgreich X

claim_frames_es: The same in Spanish. X may end in -o, -a, -os or -as.
    (he|hemos|ha|han) X; (ha|han) (sido|quedado) X; (fue|fueron|quedó|quedaron) X; (está|están|queda|quedan) X END;
    (está|están|queda|quedan) ahora X; (ya|yo) X

claim_frames_fr: The same in French. X may end in -é, -ée, -és or -ées.
    (a|ont) été X; (j'ai|ai|avons) X; (j'ai|ai|avons) bien X; (est|sont) (désormais|maintenant) X; (est|sont) bien X;
    (est|sont) X END

claim_frames_pt: The same in Portuguese. X may end in -o, -a, -os or -as.
    (foi|foram) X; (está|estão) X END; (está|estão) agora X; (ficou|ficaram) X; (já|eu) X

claim_adverbs: Adverbs that may be inside a claim frame.
    also automatically duly finally formally hereby immediately just now officially properly quickly recently safely
    since successfully then therefore bien ya ahora désormais maintenant já agora correctamente

lead_ins: Words that may open a sentence before its actual statement.
    absolutely; (all right|alright); and; certainly; congratulations; done; excellent; (good|great) news; got it; great;
    (hello|hi); no problem; of course; (ok|okay); perfect; so; sure; (thank you|thanks); understood; wonderful; yes

no_headline_elsewhere: The same in German, Spanish, French and Portuguese.
    wird werden wurde wurden worden ist sind war waren hat haben hatte kann können könnte könnten soll sollen sollte
    muss
    müssen darf dürfen würde nicht kein keine wenn falls sobald ob er sie es wir ich und oder ha han he hemos sido está
    están fue fueron será serán puede pueden podría debe sea si cuando no se lo los que y o est sont été sera seront
    peut
    peuvent pourrait doit ont pas ne n'est n'a n'ont quand qui et ou il elle je nous vous foi foram estão ser pode
    podem poderia deve não quando e você

no_headline: Words that NOUN cannot contain: with one of them it is a sentence, a condition or a denial, not a headline.
    a an and any are as be been being but by can cannot could did do does each every get gets getting got had has have
    having he her his how i if is it its may might must my no not of or our per she should than that their them then
    they to was we were what when which who whose will with would you

other_subjects: Words between `I` and `and X` after which somebody else may have done it.
    (he|she|they|which|who);
    that (he|she|the|they|you|your);
    you (are|did|had|have|were);
    you've;

no_claim_after: Up to three words after X at the start of a sentence: X describes a noun there (`Cancelled flights are
...`).
    are can cannot can't could count do does don't have is may might must need or remain should stay will

verbless_after: Words after a plural noun that are not its verb: it is a claim, `Cancelled orders for you`.
    about above according after all also and as at because before below between but by during effective ending for from
    here immediately in including inside into now of off on online or out over per plus since so starting than that then
    there through throughout to today together tomorrow tonight too under until up upon using via when where which while
    who with within without worth yesterday

modals: Directly before a frame, or before its `be` or `have`: the action is still to come, or only possible.
    (can|could|may|might|must|shall|should|will|would|'ll|'d|to) (also|always|only|not|then);
    (can|could|may|might|must|shall|should|will|would|'ll|'d|to); let (me|us)

finite_verbs: Beginnings of frames that cannot follow a modal: before them, May is the month and Will is a person.
    (has|is|are|i|we) ('s|'re)

conditionals: Earlier in the sentence: what follows is conditional.
    as long as; as soon as; assuming; if; in case; on condition that; once; provided;
    should (you|your|the|it|this|that|a|an|any); unless; until (a|an|he|i|it|she|that|the|they|this|we|you|your);
    whenever; whether

conditionals_elsewhere: The same in German, Spanish, French, Portuguese, Japanese and Chinese.
    wenn; falls; sobald; sofern; solange; ob; cuando; en cuanto; siempre que; a menos que; si; lorsque; quand;
    quando; assim que; caso; もし; 如果; 若; 一旦; 要是;
    s'il; s'ils; lorsqu'; (à condition|à moins|aussitôt|dès|pourvu|tant|une fois) (que|qu'); au cas où;
    se (a|as|ele|eles|ela|elas|essa|esse|esta|este|for|foi|fosse|houver|isso|já|não|o|os|seu|sua|tiver|você|vocês);
    (tão logo|logo que|desde que|contanto que|a não ser que)

claim_openings_ja: Directly after a claim in Japanese: what follows makes it a condition or a report.
    ら; かどうか; という; とき; 場合; か

clause_conditionals: Earlier in the clause: a time that may not have come yet, or a purpose.
    after; before; so that; when; while

relatives: Directly before a frame that does not begin with `I` or `we`: it only describes something.
    (that|which|who); whose ...

earlier: In the clause: it was already so before this turn, or only seems so.
    ago; already; (appears|appear); apparently; (earlier|formerly|originally|previously); in the past;
    last (month|time|week|year); (seems|seem); yesterday

not_claims: A claim within one of these is none: wordings of your domain, such as `booked solid`.

other_verbs: Directly after an id that comes after a claim: something else is said of it (`refunded A-9, A-10 is open`).
    can cannot can't could did does failed had has have is isn't may might remains should stays was wasn't will

other_things: In a claiming sentence: an id after one of these, or before it, is not said to be one of those that it was
done to.
    although; because; but; except; for which; from; however; if; instead; once; rather than; than; though; unable;
    unlike; while; yet;
    (cannot|not|never);
    (aren't|can't|couldn't|didn't|doesn't|don't|hasn't|haven't|isn't|wasn't|weren't|won't)

done_by: After X and `by`: a means, a time or the assistant itself. After any other `by`, somebody else did it, unless
another participle is directly before it (`caused by`).
    (me|us|myself|ourselves);
    (now|then|today|tomorrow|tonight|default|mistake|error|hand);
    (card|cash|cheque|credit|e-mail|email|mail|message|phone|post|sms|text|transfer|wire);
    (monday|tuesday|wednesday|thursday|friday|saturday|sunday|noon|midnight);
    (january|february|march|april|may|june|july|august|september|october|november|december);
    the (end|way|time);
"""

DENIALS = """
denials: Earlier in the clause: what follows is denied.
    (cannot|can not|can't|won't|unable|impossible);
    (are|could|did|do|does|had|has|have|is|might|must|need|should|was|were|would)n't; (fail|fails|failed|failing) to;
    hardly; (neither|nor); never; no; no longer; (nobody|none|nothing); not; (refuse|refused|refuses); instead of;
    rather than; without; zero

denials_elsewhere: The same in German, French, Portuguese, Japanese and Chinese; `no` is one in Spanish too.
    (nicht|nie|niemals|noch nicht|kein|keine|keinen|keiner|nichts|niemand|weder|ohne|statt); (ne|n') ... pas; pas;
    jamais; rien; aucun;
    aucune;
    sans; ni; nada; nadie; nunca; sin; tampoco; ningún; ninguna; (não|nem|nenhum|nenhuma|sem|jamais);
    未; 没; 沒; 无法; 無法; 不能;
    尚未

no_denials: Phrases that contain a word of denial but deny nothing.
    (do not|don't) (forget|hesitate|worry);
    no (doubt|later|matter|need to worry|problem|problems|sooner|worries);
    no other;
    whether or not;
    not (a problem|just|merely|only|simply|to worry);
    without (a|any) (delay|doubt|hitch|issue|issues|problem|problems|trouble);
    without (delay|issue|issues|problems);
    (kein|keine) (problem|sorge); ohne (probleme|weiteres); nicht nur; sin (problema|problemas|duda);
    pas de (problème|souci); sans (problème|souci); sem (problema|problemas|dúvida); 没问题; 沒問題;

denied_after: Directly after the words that they deny: `Assumptions: none`, `Booked: no`.
    -free;
    (is|are|was|were|has been|have been) (not|never) (involved|made|necessary|needed|present|required|used);
    (is|are|was|were)n't (involved|made|necessary|needed|present|required|used);

no_values: After words and a colon, a question mark or the like: they are answered with no (`Allocated: false`).
    (false|n/a|nil|no|none|not yet|nothing|null|zero|0);

marker_fillers: Words that may be between a denial and the marker that it denies: `not based on any assumption`.
    a additional all an and any are at based be been being by contain contains depend depends explicit further had has
    have here hidden i implicit in is it its kind made make makes making my need needed of on or other our relied relies
    rely rest rests single such that the there this to unstated use used uses was we were

unavailable_after: Directly after an action, or after its noun: it is not offered (`The Snooze button is disabled`).
    (: |= |- |)(blocked|disabled|locked|no|none|not available|unavailable);
    (never|no longer);
    (is|are|was|were)n't;
    (is|are|was|were|has been|have been) (all |also |both |currently |now |still |temporarily |)(not|never|no longer);
    (is|are|was|were|has been|have been) (all |also |both |currently |now |still |temporarily |)(blocked|disabled|
        forbidden|gone|grayed out|greyed out|hidden|impossible|locked|missing|off|removed|switched off|turned off|
        unavailable|unsupported);
    (can't|cannot|won't|doesn't|does not|will not);

unavailable_before: Before a list of actions: none of them is offered (`Unavailable actions: Snooze, Close`).
    (blocked|disabled|forbidden|missing|not available|not possible|not supported|unavailable|unsupported) ...:;
    (blocked|disabled|forbidden|missing|not available|not possible|not supported|unavailable|unsupported):;

control_nouns: Nouns that may be between an action and what makes it unavailable.
    action button control feature function option

clause_starts: After a comma, a dash or a word of `clause_joints`: a new clause begins; no earlier denial reaches it.
    a all although an and as because both but everything he here however i i'll i'm i've it it's my our she so that the
    their then there these they this those though we we'll we're we've while yet you you're your

clause_joints: Words that join clauses: see `clause_starts`.
    and because so

clause_breaks: Words that begin a new clause without a comma.
    but however although though please kindly
"""
