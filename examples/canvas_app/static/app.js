"use strict";

const page = {
  session: document.body.dataset.session,
  query: document.body.dataset.query,
  log: document.getElementById("log"),
  status: document.getElementById("status"),
  alert: document.getElementById("alert"),
  picker: document.getElementById("picker"),
  composer: document.getElementById("composer"),
  prompt: document.getElementById("prompt"),
  send: document.getElementById("send"),
  welcome: document.getElementById("welcome"),
};

const TOOL_WORDS = {
  add_component: "Adding a component",
  add_filtered_component: "Adding a filtered component",
  remove_component: "Removing a component",
  update_component: "Changing a component",
  create_space: "Creating a space",
  switch_space: "Switching the space",
  apply_template: "Applying a template",
  set_preference_rule: "Setting a rule",
  generate_brief: "Writing the brief",
};

const busy = () => page.log.getAttribute("aria-busy") === "true";

function post(path, body) {
  return fetch(`/api/sessions/${encodeURIComponent(page.session)}/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Canvas-Query": page.query },
    body: JSON.stringify(body),
  });
}

function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

const NEIGHBOURS = { sidebar: "#sidebar .rule button", picker: "#picker input", canvas: "#canvas button" };

/* Where focus goes when its control is gone: to one of its kind, else to where one goes on writing. */
function focusNear(part) {
  const near = document.querySelector(NEIGHBOURS[part]) || page.prompt;
  near.focus({ preventScroll: true });
}

function answerSoFar() {
  const form = page.picker.querySelector("form");
  const chosen = form && form.querySelector("input[name=choice]:checked");
  const typed = form && form.querySelector("input[name=value]");
  return { question: form && form.getAttribute("aria-label"), choice: chosen && chosen.value, text: typed && typed.value };
}

function answerAgain(before) {
  const form = page.picker.querySelector("form");
  if (!form || form.getAttribute("aria-label") !== before.question) return;
  const choice = before.choice && form.querySelector(`input[name=choice][value="${before.choice}"]`);
  const typed = form.querySelector("input[name=value]");
  if (choice) choice.checked = true;
  if (typed && before.text) typed.value = before.text;
}

/* The server renders and escapes every part; focus and an answer that is half given stay where they were. */
function showParts(parts) {
  const active = document.activeElement;
  const focused = active && active.id;
  const within = active && active.closest("#canvas, #sidebar, #picker");
  const before = answerSoFar();
  for (const name of ["canvas", "sidebar", "picker"]) {
    document.getElementById(name).replaceChildren(fragment(parts[name]));
  }
  document.title = parts.title;
  history.replaceState(null, "", `/spaces/${parts.space}${page.query}`);
  answerAgain(before);
  const again = focused && document.getElementById(focused);
  if (again) again.focus();
  else if (within && !document.contains(active)) focusNear(within.id);
}

function article(role, text) {
  const made = document.createElement("article");
  made.className = `message ${role}`;
  made.setAttribute("aria-label", role === "user" ? "You" : "Assistant");
  const line = document.createElement("div");
  line.className = "line";
  line.textContent = text;
  made.append(line);
  page.log.append(made);
  return made;
}

function scrollToEnd() {
  page.log.scrollTop = page.log.scrollHeight;
}

function showWelcome() {
  page.welcome.hidden = page.log.childElementCount > 0;
}

function begin(said) {
  page.alert.textContent = "";
  if (page.picker.contains(document.activeElement)) page.prompt.focus({ preventScroll: true });
  page.picker.replaceChildren();
  page.log.setAttribute("aria-busy", "true");
  page.send.disabled = true;
  page.status.textContent = "Thinking…";
  if (said) article("user", said);
  showWelcome();
  scrollToEnd();
}

function finish(problem) {
  page.status.textContent = "";
  page.send.disabled = false;
  page.alert.textContent = problem || "";
  page.log.dataset.lastTurn = problem ? "failed" : "ok";
  page.log.setAttribute("aria-busy", "false");
  scrollToEnd();
}

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    for (let cut = buffer.indexOf("\n\n"); cut >= 0; cut = buffer.indexOf("\n\n")) {
      const lines = buffer.slice(0, cut).split("\n");
      buffer = buffer.slice(cut + 2);
      const name = lines.find((line) => line.startsWith("event: "));
      const data = lines.find((line) => line.startsWith("data: "));
      if (name && data) yield { name: name.slice(7), data: JSON.parse(data.slice(6)) };
    }
  }
}

async function follow(response) {
  let message = null;
  let ended = null;
  for await (const { name, data } of eventsOf(response)) {
    if (name === "delta") {
      message = message || article("assistant", "");
      message.firstChild.textContent += data.text;
      scrollToEnd();
    } else if (name === "tool") {
      page.status.textContent = data.phase === "start" ? `${TOOL_WORDS[data.name] || "Working"}…` : "Thinking…";
    } else if (name === "page") {
      showParts(data);
    } else if (name === "end") {
      ended = data;
      if (message && data.html) message.replaceWith(fragment(data.html));
    }
  }
  if (!ended) return "The connection was lost before the answer ended. Please try again.";
  return ended.problem;
}

async function turn(path, body, said) {
  if (busy()) return;
  begin(said);
  let problem;
  try {
    const response = await post(path, body);
    if (response.ok) {
      problem = await follow(response);
    } else {
      const told = await response.json();
      problem = `That was not accepted: ${told.error}.`;
    }
  } catch (failure) {
    problem = "The app cannot be reached. Please try again.";
    console.error(failure);
  }
  finish(problem);
}

async function command(path, body) {
  try {
    const response = await post(path, body);
    const told = await response.json();
    if (response.ok) showParts(told);
    else page.alert.textContent = `That was not accepted: ${told.error}.`;
  } catch (failure) {
    page.alert.textContent = "The app cannot be reached. Please try again.";
    console.error(failure);
  }
}

function say(text) {
  const message = text.trim();
  if (!message || busy()) return;
  page.prompt.value = "";
  fit();
  turn("chat", { message }, message);
}

function fit() {
  page.prompt.rows = Math.min(6, Math.max(1, page.prompt.value.split("\n").length));
}

page.composer.addEventListener("submit", (event) => {
  event.preventDefault();
  say(page.prompt.value);
});

page.prompt.addEventListener("input", fit);
page.prompt.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    page.composer.requestSubmit();
  }
});

page.picker.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  const chosen = form.querySelector("input[name=choice]:checked");
  const typed = form.querySelector("input[name=value]");
  if (chosen) turn("actions", { choice: Number(chosen.value) }, chosen.parentElement.textContent.trim());
  else if (typed && typed.value.trim()) turn("actions", { value: typed.value.trim() }, typed.value.trim());
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.tool) {
    const words = button.getAttribute("aria-label") || button.textContent.trim();
    turn("actions", { tool: button.dataset.tool, arguments: JSON.parse(button.dataset.arguments) }, words);
  } else if (button.dataset.source) {
    command("integrations", { source: button.dataset.source, on: button.getAttribute("aria-checked") !== "true" });
  } else if (button.dataset.rule) {
    command(`rules/${button.dataset.rule}/drop`, {});
  } else if (button.classList.contains("drop-question")) {
    command("question/drop", {});
  } else if (button.classList.contains("suggestion")) {
    say(button.textContent);
  }
});

showWelcome();
scrollToEnd();
