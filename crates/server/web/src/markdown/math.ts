// Formulas of TeX as MathML, which browsers show without fonts or styles of ours: a file of its own, which is loaded with
// the first formula.
import temml from 'temml';

/** The most characters of a formula that are made one. */
const MOST = 5_000;

/** A formula as an element. One that is wrong is shown as it was written. */
export function formula(text: string, isBlock: boolean): Element {
  const place = document.createElement('span');
  place.className = isBlock ? 'formula' : '';
  if (text.length > MOST) {
    place.textContent = text;
    return place;
  }
  try {
    // Nothing of a model's is trusted: no links, no styles, no images.
    temml.render(text, place, { displayMode: isBlock, trust: false, throwOnError: true, maxExpand: 200, maxSize: [20, 20] });
  } catch {
    place.textContent = text;
  }
  return place;
}
