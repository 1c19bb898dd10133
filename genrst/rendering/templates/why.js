// Highlight the words that signal a relation together with the relation.

// The numbers of the signal words for an element: a secondary edge, a unit or an EDU.
function wordsAt(element) {
  const edge = element?.closest?.(".beside");
  if (!edge) return (nodeOf(element) ?? leafOf(element))?.words ?? [];
  const { start, stop } = edge.parentNode.dataset;
  const picture = pictures.find((one) => one.svg.contains(edge));
  const isIt = (one) => one.source === `${start}-${stop}` && one.target === edge.dataset.target;
  return picture?.edges?.find(isIt)?.words ?? [];
}

let lit = "";

function light(element) {
  const numbers = element ? wordsAt(element) : [];
  if (String(numbers) === lit) return;
  lit = String(numbers);
  for (const word of document.querySelectorAll(".lit")) word.classList.remove("lit");
  for (const number of numbers) {
    for (const word of document.querySelectorAll(`.w${number}`)) word.classList.add("lit");
  }
}

document.addEventListener("pointermove", (event) => {
  const isSomewhere = event.target.closest?.(".beside, .areas rect, .edu");
  light(isSomewhere ? event.target : document.activeElement);
});
document.documentElement.addEventListener("pointerleave", () => light(document.activeElement));
document.addEventListener("focusin", (event) => light(event.target));
document.addEventListener("focusout", () => light(null));
