// Reading JSON by ourselves: whole numbers stay exact, no field is named twice, and objects are Maps, so that a field
// called __proto__ is a field like any other. Writing the canonical JSON that digests are of, and SHA-256.

const DEEPEST = 32;
const MOST_INTEGER_DIGITS = 4300;
const SPACES = /[ \t\n\r]*/y;
const PLAIN_CHARACTERS = /[^"\\\u0000-\u001f]*/y;
const NUMBER = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const WORD = /true|false|null|NaN|-?Infinity/y;
const HALF_CHARACTER = /\p{Surrogate}/u;
const WORDS = { true: true, false: false, null: null };
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const NOT_JSON = `this is not JSON text, or not nested at most ${DEEPEST} deep`;

/** A number with a fraction or an exponent. */
class Float {
  constructor(value) {
    this.value = value;
    Object.freeze(this);
  }
}

class JsonReader {
  constructor(text) {
    this.text = text;
    this.place = 0;
  }

  static read(text) {
    const reader = new JsonReader(text);
    const value = reader.value(0);
    reader.taken(SPACES);
    insist(reader.place === text.length, NOT_JSON);
    return value;
  }

  taken(pattern) {
    pattern.lastIndex = this.place;
    const found = pattern.exec(this.text);
    if (found !== null) this.place = pattern.lastIndex;
    return found;
  }

  next(character) {
    this.taken(SPACES);
    if (this.text[this.place] !== character) return false;
    this.place += 1;
    return true;
  }

  value(depth) {
    insist(depth <= DEEPEST, NOT_JSON);
    if (this.next("{")) return this.object(depth + 1);
    if (this.next("[")) return this.list(depth + 1);
    if (this.next('"')) return this.string();
    const word = this.taken(WORD);
    if (word !== null) return word[0] in WORDS ? WORDS[word[0]] : new Float(Number(word[0]));
    const number = this.taken(NUMBER);
    insist(number !== null, NOT_JSON);
    if (number[2] !== undefined || number[3] !== undefined) return new Float(Number(number[0]));
    insist(number[1].length <= MOST_INTEGER_DIGITS, NOT_JSON);
    return BigInt(number[1]);
  }

  object(depth) {
    insist(depth <= DEEPEST, NOT_JSON);
    const found = new Map();
    if (this.next("}")) return found;
    do {
      insist(this.next('"'), NOT_JSON);
      const name = this.string();
      insist(this.next(":"), NOT_JSON);
      insist(!found.has(name), "no field may be named twice");
      found.set(name, this.value(depth));
    } while (this.next(","));
    insist(this.next("}"), NOT_JSON);
    return found;
  }

  list(depth) {
    insist(depth <= DEEPEST, NOT_JSON);
    const found = [];
    if (this.next("]")) return found;
    do found.push(this.value(depth));
    while (this.next(","));
    insist(this.next("]"), NOT_JSON);
    return found;
  }

  string() {
    let found = "";
    for (;;) {
      found += this.taken(PLAIN_CHARACTERS)[0];
      const character = this.text[this.place];
      this.place += 1;
      if (character === '"') {
        insist(!HALF_CHARACTER.test(found), NOT_JSON);
        return found;
      }
      insist(character === "\\", NOT_JSON);
      found += this.escaped();
    }
  }

  escaped() {
    const letter = this.text[this.place];
    this.place += 1;
    if (letter !== "u") {
      insist(letter !== undefined && Object.hasOwn(ESCAPES, letter), NOT_JSON);
      return ESCAPES[letter];
    }
    const digits = this.text.slice(this.place, this.place + 4);
    insist(/^[0-9a-fA-F]{4}$/.test(digits), NOT_JSON);
    this.place += 4;
    return String.fromCharCode(parseInt(digits, 16));
  }
}

// --- canonical JSON ------------------------------------------------------------------------------------------

const CANONICAL = { item: ",", field: ":" };
/** As the keys and sizes of groups are digested. */
const SPACED = { item: ", ", field: ": " };

/** Keys in the order of their characters, ASCII only, whole numbers in full. */
function canonical(value, style = CANONICAL) {
  if (value instanceof Map) {
    const names = [...value.keys()].sort(byCharacters);
    return `{${names.map((name) => quoted(name) + style.field + canonical(value.get(name), style)).join(style.item)}}`;
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, style)).join(style.item)}]`;
  if (typeof value === "string") return quoted(value);
  if (value instanceof Float) return floatText(value.value);
  return String(value);
}

/** The order of code points, which is not that of UTF-16 beyond U+D7FF. */
function byCharacters(a, b) {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let k = 0; k < Math.min(left.length, right.length); k++) {
    const difference = left[k].codePointAt(0) - right[k].codePointAt(0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

const ESCAPED = { '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function quoted(text) {
  const inside = text.replace(/["\\]|[^ -~]/g, (one) =>
    Object.hasOwn(ESCAPED, one) ? ESCAPED[one] : `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `"${inside}"`;
}

/** A float by the fewest digits that mean it, with an exponent below 10^-4 and from 10^16 on. */
function floatText(value) {
  insist(Number.isFinite(value), "a number must be finite");
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const sign = value < 0 ? "-" : "";
  const [mantissa, power] = Math.abs(value).toExponential().split("e");
  const [digits, exponent] = [mantissa.replace(".", ""), Number(power)];
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const padded = digits.padEnd(exponent + 1, "0");
  return `${sign}${padded.slice(0, exponent + 1)}.${padded.slice(exponent + 1) || "0"}`;
}

// --- SHA-256 (FIPS 180-4): from the definition, because a page opened from a file has no crypto.subtle everywhere --

function firstPrimes(count) {
  const found = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}

/** The first 32 bits after the point of the root of a number, in whole numbers. */
function rootBits(number, degree) {
  let [low, high] = [0n, 1n << 40n];
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(degree) <= BigInt(number) << BigInt(32 * degree)) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn);
}

const ROUND_CONSTANTS = Int32Array.from(firstPrimes(64), (prime) => rootBits(prime, 3));
const FIRST_STATE = Int32Array.from(firstPrimes(8), (prime) => rootBits(prime, 2));

const rotated = (word, by) => (word >>> by) | (word << (32 - by));

function sha256(bytes) {
  const state = FIRST_STATE.slice();
  const padded = new Uint8Array(((bytes.length + 8) >> 6) * 64 + 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const words = new Int32Array(64);
  for (let start = 0; start < padded.length; start += 64) {
    for (let t = 0; t < 16; t++) words[t] = view.getInt32(start + 4 * t);
    for (let t = 16; t < 64; t++) {
      const [before, after] = [words[t - 15], words[t - 2]];
      const small = rotated(before, 7) ^ rotated(before, 18) ^ (before >>> 3);
      const large = rotated(after, 17) ^ rotated(after, 19) ^ (after >>> 10);
      words[t] = (words[t - 16] + small + words[t - 7] + large) | 0;
    }
    compress(state, words);
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function compress(state, words) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t++) {
    const mixed = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const first = (h + mixed + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[t] + words[t]) | 0;
    const turned = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const second = (turned + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, k) => {
    state[k] = (state[k] + word) | 0;
  });
}

const inBytes = (text) => new TextEncoder().encode(text);

/** The digest of all fields but the digest itself. */
function digestOf(content, style = CANONICAL) {
  const rest = new Map(content);
  rest.delete("sha256");
  return sha256(inBytes(canonical(rest, style)));
}
