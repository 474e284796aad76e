// What a reader would see, measured: returned as one object.
(() => {
  const visible = (element) => element.getClientRects().length > 0;
  const svgs = [...document.querySelectorAll("svg.plot")].filter(visible);

  const luminance = ([r, g, b]) => {
    const linear = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const parsed = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parsed(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };

  const faintText = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !visible(element) || element.closest("script, style, title, desc")) continue;
    const style = getComputedStyle(element);
    const ink = parsed(element instanceof SVGElement ? style.fill : style.color);
    const ratio = contrast(ink, behind(element));
    if (ratio < 4.5) faintText.push(`${node.data.trim()} (${ratio.toFixed(2)})`);
  }

  const faintMarks = [];
  const outside = [];
  const overlaps = [];
  for (const svg of svgs) {
    for (const shape of svg.querySelectorAll(".dot, .bar")) {
      const style = getComputedStyle(shape);
      const published = shape.closest(".published");
      const ratio = contrast(parsed(published ? style.stroke : style.fill), behind(svg));
      const name = `${shape.parentElement.getAttribute("class")} (${ratio.toFixed(2)})`;
      if (ratio < 3 && !faintMarks.includes(name)) faintMarks.push(name);
    }
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((t) => ({ box: t.getBoundingClientRect(), words: t.textContent }));
    for (const [i, a] of texts.entries()) {
      const beyond = a.box.left < frame.left - 1 || a.box.right > frame.right + 1 || a.box.bottom > frame.bottom + 1;
      if (beyond) outside.push(a.words);
      for (const b of texts.slice(i + 1)) {
        const width = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const height = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        // Boxes hold room above and below the letters; lines of text may share that.
        if (width > 0 && height > 2) overlaps.push(`${a.words} | ${b.words}`);
      }
    }
  }

  const figures = [...document.querySelectorAll("figure")].map((figure) => {
    const drawn = svgs.filter((svg) => figure.contains(svg));
    const box = drawn[0]?.getBoundingClientRect();
    const sized = (mark) => {
      const b = mark.querySelector(".dot, .bar").getBoundingClientRect();
      return b.width > 0 && b.height > 0;
    };
    const marks = drawn.flatMap((svg) => [...svg.querySelectorAll(".mark")]).filter(sized);
    return { drawings: drawn.length, marks: marks.length, width: box?.width, height: box?.height };
  });
  const page = document.documentElement;
  const wide = [...document.querySelectorAll("main *")]
    .filter((e) => e.getBoundingClientRect().right > page.clientWidth + 1 && !e.closest(".scroll, pre"))
    .map((e) => e.tagName + "." + e.getAttribute("class"))
    .slice(0, 5);
  const dark = luminance(behind(document.body)) < 0.2;
  const sideways = page.scrollWidth - page.clientWidth;
  return { sideways, wide, faintText, faintMarks, outside, overlaps, figures, dark };
})()
