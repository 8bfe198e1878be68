// Live pages in frames follow the switch between light and dark of the site around them.
(() => {
  const root = document.documentElement;
  const frames = () => document.querySelectorAll(".live iframe");
  const tell = (frame) => frame.contentWindow?.postMessage({ theme: root.dataset.theme }, "*");
  addEventListener("DOMContentLoaded", () => {
    for (const frame of frames()) {
      frame.addEventListener("load", () => tell(frame));
      tell(frame);
    }
    new MutationObserver(() => frames().forEach(tell)).observe(root, { attributeFilter: ["data-theme"] });
  });
})();
