// Writes src/check.js: the exact checker that the package's page has, as a module.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PARTS = ["exact", "json", "graphs", "query", "laws", "plane", "response", "blocks", "quantiles", "claims", "passport"];
const NAMES = [
  "Fraction", "JsonReader", "LabelSets", "Noise", "PlaneNoise", "Query", "TOTAL_BITS", "TwoWeights",
  "canonical", "checkPassport", "field", "readEpsilon", "readMatrix",
];

const folder = new URL("../src/inbounds/report/static/check/", import.meta.url);
const texts = PARTS.map((part) => readFileSync(new URL(`${part}.js`, folder), "utf8"));
const header = "// Written by build.mjs from src/inbounds/report/static/check. Do not edit.\n";
const footer = `export { ${NAMES.join(", ")} };\n`;
const target = fileURLToPath(new URL("src/check.js", import.meta.url));
writeFileSync(target, [header, ...texts, footer].join("\n"));
