"""Words in the results and names of tools. No suite replaces them: they are read when no suite is known."""

RESULTS = """
verdict_keys: Keys of a result that mean failure if they are false, 0 or `no`.
    success ok succeeded successful issuccess

error_keys: Keys of a result that mean failure if they are set, except to a value of `no_error`.
    error errors errorcode errormessage exception

no_error: Values of an error key that mean there was no error.
    ; none; null; no; no error; nil; false; 0; n/a; ok; success

failure_marks: Keys that mean failure if they are true.
    iserror failed

failure_counts: Keys that count what failed: more than 0, or a list with entries, means failure.
    failed failures failedcount failurecount numfailed

exit_codes: Keys of exit codes and of gRPC status codes: anything but 0 means failure.
    exitcode exitstatus returncode grpcstatus

status_keys: Keys of a status in words, or of an HTTP status code.
    status state

status_codes: Keys of an HTTP status code: 400 or more means failure.
    statuscode httpstatus

failed_status: Values of `status` or `state` that mean failure.
    aborted; bad request; crashed; declined; denied; error; errored; exception; fail; failed; failure; fatal; forbidden;
    internal error; internal server error; nok; not found; not ok; refused; rejected; timed out; timeout; unauthorized;
    unsuccessful

grpc_status: Values of `status` or `state` that mean failure in gRPC, in capitals.
    CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED
    FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED

envelopes: Keys that may wrap the actual result: signs of failure count there as well.
    body data result response content output structuredcontent

notice_keys: A list entry that has only these keys and a failed status is a failure, not a record.
    status state code message reason detail details title type

lost_answer: Errors of a call that may have taken effect anyway: only its answer was lost.
    (timed out|time out|time-out|timeout|timeouterror|readtimeout);
    deadline exceeded;
    deadline_exceeded;
    (answer|response|reply|result) (was |is |)(lost|dropped);
    no (answer|response|reply);
    (connection|stream|socket) (was |)(reset|aborted|closed|dropped|lost|terminated);
    (broken pipe|server disconnected|gateway timeout);

request_keys: Arguments that only identify a request and are not part of its content.
    clientreference clienttoken clientrequestid correlationid dedupkey idempotencykey idempotencytoken nonce requestid
    requestkey

framework_helpers: Calls that frameworks use to return the answer. They do not count as tool calls.
    final_answer final_result final_result_* finish structured_output StructuredOutput submit_final_answer

own_ends: Finish reasons of a model that stopped by itself.
    stop endturn toolcalls tooluse functioncall functioncalls stopsequence completed eos complete

errors_in_other_languages: Words for `error` that may open the text of a result, before a colon.
    błąd erreur erro errore fehler fel fout ошибка エラー 錯誤 错误 오류

failure_kinds: Words that may come before `error`, `exception` or `failure` at the start of a text result.
    a an api application connection critical database execution fatal http internal network request runtime server
    system the timeout tool unexpected unknown validation

failure_openings: Openings of a text result that mean the call failed.
    (could not|couldn't|unable to|failed to);
    (i|we|it|tool) (could not|couldn't|failed to);
    (i|we|it|tool) (was|were|am|are|have|has) (unable to|failed to);
    failed (to|because|due|with|after|in|on);
    traceback;
    something went wrong;
    oops;
    there (was|were|has been) (a|an|some) (error|exception|failure|problem);
    (access|permission) (was |is |)denied;
    (unauthorized|unauthorised|forbidden|bad request|internal server error);
    timed out;
    (the |)(call|connection|operation|request|tool) timed out;
    (invalid|missing) (api key|argument|arguments|credential|credentials|date|field|fields|input|parameter|parameters|
        request|token|value|values);
    not (allowed|authorised|authorized|permitted);
    unknown tool;
    unsupported operation;
    error (from|response from) (daemon|server|the server|upstream);
    too many requests;
    connection (refused|reset|closed|aborted|timed out);
    timeout (after|while|waiting|exceeded);
    deadlock detected;
    syntax error (at|near|in);
    no such (column|container|directory|file|host|key|table|user);
    upstream connect error;
    service unavailable;
    (cancelled|canceled|aborted) by (the user|user);
    the system cannot find;

declined_subjects: What a text result calls declined, denied, refused, rejected or unsuccessful where the call failed.
    (application|booking|card|charge|order|payment|refund|request|reservation|transaction|transfer);

exhausted_openings: Openings of a text result that mean there was not enough of something, at its end or with a reason.
    insufficient (balance|credit|funds|permissions|privileges|quota|stock);
    (rate limit|quota|limit) (exceeded|reached|hit);

refusal_openings: Openings of a text result that mean the tool refused, or found nothing to work on.
    cannot; can't; sorry

verdict_openings: Openings of a text result that say no, at its end or with a reason.
    not found; (aborted|cancelled|canceled|declined|denied|refused|rejected);

reading_tools: First words in the names of tools that change nothing: lint and draft propose `effects` for others.
    analyze ask browse calculate check compare compute count describe detect diff estimate evaluate explain extract
    fetch find get has inspect is list load locate look lookup measure peek preview query read recall retrieve scan
    search select show status suggest summarize think track translate validate verify view

cut_off: Finish reasons of a model that was cut off.
    content_filter length max_output_tokens max_tokens recursion_limit max_steps max_turns
"""
