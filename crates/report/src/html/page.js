// Adds what paper cannot do: values under the pointer, the finger or the arrow
// keys, a copy button, and details opened for printing.
"use strict";
(() => {
  const tip = document.getElementById("tip");
  let current = null;

  // The words move out of <title>, so that the browser does not show them a second time.
  const words = new Map();
  for (const mark of document.querySelectorAll("svg.plot .mark")) {
    const title = mark.querySelector("title");
    words.set(mark, title.textContent);
    title.remove();
  }

  const hide = () => {
    if (current) current.classList.remove("at");
    current = null;
    tip.hidden = true;
  };

  const show = (mark) => {
    if (mark === current) return;
    hide();
    current = mark;
    mark.classList.add("at");
    tip.textContent = words.get(mark);
    tip.hidden = false;
    const box = (mark.querySelector(".dot, .bar") || mark).getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const page = document.documentElement;
    const middle = (Math.max(box.left, 0) + Math.min(box.right, page.clientWidth)) / 2;
    const left = Math.max(4, Math.min(middle - own.width / 2, page.clientWidth - own.width - 4));
    const above = box.top - own.height - 10;
    const top = above >= 0 ? above : box.bottom + 10;
    tip.style.left = left + window.scrollX + "px";
    tip.style.top = top + window.scrollY + "px";
  };

  const away = (box, x, y) =>
    Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));

  // A finger is wide: the nearest mark within reach is meant.
  const nearest = (marks, x, y, reach) => {
    let best = null;
    let least = reach;
    for (const mark of marks) {
      const distance = away((mark.querySelector(".dot, .bar") || mark).getBoundingClientRect(), x, y);
      if (distance < least) [best, least] = [mark, distance];
    }
    return best;
  };

  for (const plots of document.querySelectorAll(".plots")) {
    const visible = () =>
      [...plots.querySelectorAll("svg.plot")]
        .filter((svg) => svg.getClientRects().length > 0)
        .flatMap((svg) => [...svg.querySelectorAll(".mark")]);
    const point = (event) => {
      const mark = nearest(visible(), event.clientX, event.clientY, event.pointerType === "mouse" ? 24 : 48);
      if (mark) show(mark);
      else hide();
    };
    plots.addEventListener("pointermove", point);
    plots.addEventListener("pointerdown", point);
    plots.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") hide();
    });
    plots.addEventListener("focus", () => {
      if (!current && plots.matches(":focus-visible")) show(visible()[0]);
    });
    plots.addEventListener("blur", hide);
    plots.addEventListener("keydown", (event) => {
      const marks = visible();
      const at = marks.indexOf(current);
      const last = marks.length - 1;
      const next = {
        ArrowRight: Math.min(at + 1, last),
        ArrowDown: Math.min(at + 1, last),
        ArrowLeft: Math.max(at - 1, 0),
        ArrowUp: Math.max(at - 1, 0),
        Home: 0,
        End: last,
      }[event.key];
      if (event.key === "Escape") hide();
      if (next === undefined) return;
      event.preventDefault();
      show(marks[next]);
    });
  }
  addEventListener("resize", hide);

  for (const button of document.querySelectorAll(".copy")) {
    const code = button.closest(".command").querySelector("code");
    button.hidden = false;
    button.addEventListener("click", async () => {
      let copied = true;
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        getSelection().selectAllChildren(code);
        copied = document.execCommand("copy");
      }
      button.textContent = copied ? "Copied" : "Selected";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }

  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
