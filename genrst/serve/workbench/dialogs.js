// Dialogs: a question that must be answered, and a notice with actions that leaves the page usable.

// Ask a question and return the key of the answer; Escape gives the last answer.
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
    event.stopPropagation(); // keeps keys from reaching the tree
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

// Return the focus to an element or, if it is gone, to the selected node.
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
