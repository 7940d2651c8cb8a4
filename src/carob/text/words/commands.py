"""Words about the commands and files of coding agents. No suite replaces them: they are read when no suite is known."""

COMMANDS = r"""
shell_tools: Tools of coding agents that run a command line.
    Bash; bash; shell; Shell; local_shell; local_shell_call; exec_command; shell_command; run_shell_command;
    execute_bash; run_command; run_terminal_cmd; terminal; Terminal; command_execution; container.exec; BashTool;
    execute_command; bash_command; CmdRunAction; unified_exec;

shell_line_keys: Arguments of such a tool that hold the command line, as text or as a list.
    command cmd script commandLine command_line

edit_tools: Tools of coding agents that change files.
    Edit; MultiEdit; Write; NotebookEdit; edit; write; multiedit; patch; apply_patch; write_file; replace; edit_file;
    create_file; str_replace_editor; str_replace_based_edit_tool; file_editor; file_change; insert_edit_into_file;
    delete_file; search_replace; write_to_file; replace_in_file;

edit_path_keys: Arguments of such a tool that hold the path.
    file_path path absolute_path filePath notebook_path target_file filename

skill_tools: Tools of coding agents that load a skill.
    Skill; skill; activate_skill; load_skill;

skill_name_keys: Arguments of such a tool that hold the name of the skill.
    skill skill_name name command

harmless_tools: Tools of coding agents that change no file of the workspace.
    Read; read; read_file; read_many_files; view; view_file; Glob; glob; Grep; grep; LS; ls; list; list_dir;
    list_directory; list_files; search_file_content; search_files; file_search; codebase_search; WebFetch; WebSearch;
    web_fetch; web_search; webfetch; websearch; google_web_search; TodoWrite; TodoRead; todo_write; todowrite;
    todoread; write_todos; update_plan; think; finish; submit; BashOutput; KillShell; KillBash; write_stdin;
    save_memory; Skill; skill; activate_skill; load_skill; ExitPlanMode; AskUserQuestion; ask_user; task_tracker;
    view_image;

shells: Programs that run a command line, given after `-c`.
    sh bash zsh dash ksh ash fish

command_wrappers: Programs that run the rest of their arguments as a command: what they run is what counts.
    env; timeout; nice; nohup; time; stdbuf; setsid; sudo; doas; xargs; command; exec; builtin; ionice; chrt; uv run;
    uvx; npx; bunx; poetry run; pipenv run; pdm run; hatch run; rye run; pnpm exec; yarn exec; bundle exec;
    conda run; mise exec; direnv exec; catchsegv; unbuffer; script;

shell_builtins: Commands that a shell runs itself, without another program.
    cd; echo; printf; test; [; true; false; :; export; set; unset; unsetenv; read; pwd; source; .; eval; exec; exit;
    return; shift; trap; umask; ulimit; wait; type; command; builtin; alias; unalias; local; declare; typeset; readonly;
    times; hash; getopts; bg; fg; jobs; kill; pushd; popd; dirs; shopt; let; [[; break; continue; fc; bind; disown;
    enable; help; history; logout; mapfile; readarray; suspend;

copying_commands: Programs that make a file of what the agent gives them.
    cp; mv; ln; install; tee; dd;

rehearsal_options: Options by which a program does not do what it is called for; with `=` also.
    --help; --version; --dry-run; --dry_run; --collect-only; --collectonly; --co; --setup-plan; --setup-only;
    --fixtures; --markers; --no-run; --list-tests; --listTests; --just-print;

unreadable_commands: Programs that run what a command line does not show: code, a file, or what they read.
    eval; source; .; python; python3; node; ruby; perl; php; awk; deno; bun; lua; osascript; pwsh; powershell;
    parallel; xargs; ssh; docker; podman; find; sh; bash; zsh; dash; ksh; fish; ash; tclsh; expect; sed; ed; ex; vim;
    vi;

reading_commands: Programs that change no file, unless their line redirects output to one.
    cat; ls; grep; rg; egrep; fgrep; head; tail; wc; pwd; echo; printf; cd; true; false; test; [; which; type; file;
    stat; tree; du; df; diff; cmp; date; whoami; id; uname; env; printenv; sleep; less; more; sort; uniq; cut; tr;
    nl; basename; dirname; realpath; readlink; jq; ps; hostname; export; set; :; git status; git diff; git log;
    git show; git branch; git rev-parse; git ls-files; git grep; git blame; git remote;

exit_code_texts: How the result of a command line states its exit code, as a line of its own; N is the number.
    exit code N; exit code: N; exit status N; exit status: N; process exited with code N;
    process exited with exit code N; command exited with code N; command failed with exit code N;
    command failed with exit code: N; command exited with non-zero status code (N).; [exit code N]; [exit code: N];
    (exit code N); (exit code: N); exited with code N; exited with exit code N; exit_code: N; returncode: N;
    return code: N; return code N; <returncode>N</returncode>; <exit_code>N</exit_code>;
    [command finished with exit code N]; [the command completed with exit code N.];

agent_caches: Files that tools write, and not the agent: they are ignored like `ignore_files`.
    **/__pycache__/**; **/*.pyc; **/.pytest_cache/**; **/.ruff_cache/**; **/.mypy_cache/**; **/.DS_Store; .git/index;
    .git/index.lock; .git/objects/**; .git/logs/**; .git/COMMIT_EDITMSG; .git/ORIG_HEAD; .git/FETCH_HEAD;

test_files: The fixture's own files that decide whether a command of `after` passes: restored before it runs.
    tests/**; test/**; **/tests/**; **/test/**; **/__tests__/**; spec/**; **/test_*.py; **/*_test.py; **/*_test.go;
    **/*.test.js; **/*.test.ts; **/*.test.tsx; **/*.test.jsx; **/*.spec.js; **/*.spec.ts; **/*.spec.tsx;
    **/*_spec.rb; **/*Test.java; **/*Tests.cs; **/conftest.py; pytest.ini; .pytest.ini; tox.ini; noxfile.py;
    setup.cfg; .coveragerc; jest.config.*; vitest.config.*; playwright.config.*; karma.conf.*; .mocharc.*; Makefile;
    makefile; GNUmakefile;

hijacking_files: Files that change what a command of `after` does without being named: new ones are removed first.
    **/conftest.py; pytest.ini; .pytest.ini; tox.ini; setup.cfg; **/sitecustomize.py; **/usercustomize.py; **/*.pth;
    GNUmakefile; makefile; jest.config.*; vitest.config.*; .mocharc.*; .npmrc;

passed_on_variables: Variables of Carob's environment that an agent in a workspace gets; `environment` names others.
    PATH LANG LANGUAGE LC_* TZ TERM USER LOGNAME SHELL
"""
