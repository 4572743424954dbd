import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** What the page takes from the report's. */
const SHARED = ["package-lock.json", "package.json", "src/dom.ts", "src/style.css"];

/** One digest over everything the page is built from, in the order of the paths. */
function sourceDigest(): string {
  const web = join(import.meta.dirname, "..");
  const files = [...SHARED, ...readdirSync(import.meta.dirname).map((name) => `diff/${name}`)];
  const digest = createHash("sha256");
  for (const file of files.sort()) digest.update(`${file}\0`).update(readFileSync(join(web, file)));
  return digest.digest("hex");
}

/** Lets the page run exactly the one script it was built with, by its digest. */
function allowOwnScript(): Plugin {
  return {
    name: "allow-own-script",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        for (const file of Object.values(bundle)) {
          if (file.type !== "asset" || !file.fileName.endsWith(".html")) continue;
          const html = String(file.source);
          const script = /<script type="module"[^>]*>([\s\S]*?)<\/script>/.exec(html);
          if (script === null) throw new Error("the page has no inline script");
          const digest = createHash("sha256").update(script[1] ?? "", "utf8").digest("base64");
          file.source = html.replace("SCRIPT-DIGEST", () => digest).replace("SOURCE-DIGEST", sourceDigest);
        }
      },
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), allowOwnScript()],
  build: { target: "es2022", outDir: "../dist/diff", emptyOutDir: true, modulePreload: false },
});
