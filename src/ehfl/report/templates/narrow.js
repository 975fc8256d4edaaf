"use strict";
// What a narrow page needs: tables that say that they go on, figures that can be enlarged.
(() => {
  // A table wider than its box says so, until its end has been scrolled to.
  document.querySelectorAll(".sideways").forEach((box) => {
    const cue = box.previousElementSibling;
    function hint() {
      cue.hidden = box.scrollWidth <= box.clientWidth;
      box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    }
    box.addEventListener("scroll", hint, { passive: true });
    new ResizeObserver(hint).observe(box);
    hint();
  });

  // On a narrow page a figure is shown whole; a click shows it as large as on a wide one, and its box scrolls.
  document.querySelectorAll(".picture").forEach((picture) => {
    const button = picture.parentElement.querySelector(".enlarge");
    button.hidden = false;
    button.addEventListener("click", () => {
      const large = picture.classList.toggle("large");
      button.setAttribute("aria-pressed", String(large));
    });
  });
})();
