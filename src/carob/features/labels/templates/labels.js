"use strict";
// Labels and reviews: one key or one click sends one of them; the next answer is shown when it is on disk.
(() => {
  const desk = document.querySelector(".labelling");
  const reviews = document.querySelector(".reviews[data-run]");
  const problem = document.getElementById("problem");
  const root = document.querySelector(".brand")?.getAttribute("href");
  let sending = false;
  const send = async (content) => {
    if (sending) return;
    sending = true;
    let words = "The viewer does not respond. Is carob view still running? Nothing was saved.";
    try {
      const answer = await fetch(`${root}labels`, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content),
      });
      if (answer.ok) { location.reload(); return; }
      words = (await answer.json().catch(() => ({}))).problem || words;
    } catch { /* the words say it */ }
    sending = false;
    problem.textContent = words;
    problem.hidden = false;
  };
  const note = document.getElementById("note");
  const act = (button) => {
    const { run, queue, criterion = "", evidence = "" } = desk.dataset;
    const { act, verdict = "" } = button.dataset;
    send({ act, run, queue, criterion, evidence, verdict, note: act === "label" ? note.value : "" });
  };
  if (desk) {
    desk.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-act]");
      if (button) act(button);
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
      if (event.target.closest("input, select, textarea")) return;
      const button = desk.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (button) { event.preventDefault(); act(button); }
      if (event.key === "w" && note) { event.preventDefault(); note.focus(); }
    });
    desk.querySelector("[data-focus]")?.focus();
  }
  reviews?.querySelector("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const form = event.target;
    const { run, index, repeat } = reviews.dataset;
    send({
      act: "review", run, index: Number(index), repeat: Number(repeat), check: Number(form.elements.check.value),
      verdict: event.submitter.value, note: form.elements.note.value,
    });
  });
})();
