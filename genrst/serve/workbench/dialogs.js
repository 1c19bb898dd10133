// What the page asks: a question that has to be answered, and a notice with things to do that leaves the page usable.

// Ask; the key of the answer, of which Escape gives the last one.
function question(text, answers, ...content) {
  const dialog = find("question");
  const before = document.activeElement;
  const keys = Object.keys(answers);
  const choice = (key) => make("button", { type: "button", value: key, click: () => dialog.close(key) }, answers[key]);
  const buttons = keys.map(choice);
  const row = make("p", { class: "answers" }, ...buttons);
  dialog.replaceChildren(make("p", { id: "question-text" }, text), ...content, row);
  dialog.returnValue = keys.at(-1);
  dialog.oncancel = () => (dialog.returnValue = keys.at(-1));
  dialog.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) dialog.close(keys[0]);
    event.stopPropagation(); // keys are for the answer, not for the tree
  };
  dialog.showModal();
  (content[0] ?? buttons[0]).focus();
  return new Promise((resolve) => {
    dialog.onclose = () => {
      refocus(before);
      resolve(dialog.returnValue);
    };
  });
}

// Back to where the focus was, or to the node that is selected.
function refocus(element) {
  if (element?.isConnected && element !== document.body) element.focus();
  else if (bench.selected && !bench.other) goTo(nodeAt(bench.selected));
}

function notice(text, buttons) {
  const row = buttons.map(([name, click]) => button(name, name, click));
  find("notice").replaceChildren(make("span", {}, text), ...row);
  find("notice").hidden = false;
}

function closeNotice() {
  find("notice").hidden = true;
}
