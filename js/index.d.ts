/** What an app pins at build time. A passport that differs in any of these is refused. */
export interface Pins {
  /** The passport's sha256. */
  digest: string;
  /** The largest epsilon that the app accepts, as text: "1", "0.5" or "1/2". */
  maxEpsilon: string;
  /** The passport's `content.query`. */
  query: object;
  /** Move a number outside the range to the nearer end instead of refusing it. Default: false. */
  clamp?: boolean;
}

/** A value that the query has as an answer: a label, a number, an exact number as text, or the coordinates of a place. */
export type Value = string | number | bigint | ReadonlyArray<number | string>;

/** A label, a number, or the number of a set of labels: what the collector counts. */
export type Report = string | number;

export interface Mechanism {
  readonly digest: string;
  /** Exact, in lowest terms. */
  readonly epsilon: string;
  /** Bytes of the longest report as JSON. */
  readonly longestReport: number;
  /** Draw a report from crypto.getRandomValues. Every call draws anew. */
  randomize(value: Value): Report;
}

/** Read a passport and check it exactly. Throws unless it is private and is the one that the app pins. */
export function readMechanism(text: string, pins: Pins): Mechanism;

export interface ReportStorage {
  /** Store what `change` makes of the stored text (null: none); resolve with it once it is durable. Changes never overlap. */
  update(key: string, change: (stored: string | null) => string): Promise<string>;
}

export interface ReporterOptions {
  /** The name of the collection. */
  name: string;
  /** The largest number of periods that will ever be reported in. */
  periods: number;
  storage: ReportStorage;
}

export class Reporter {
  constructor(mechanism: Mechanism, options: ReporterOptions);
  readonly name: string;
  readonly periods: number;
  /** The body of the period's report, drawn and stored at the first call. Bodies of a period are equally long. */
  report(value: Value, period: string): Promise<string>;
  /** Store the report, then deliver its body. Resolves with false where it was delivered before. */
  send(value: Value, period: string, deliver: (body: string) => Promise<unknown>): Promise<boolean>;
}

/** Open the browser's IndexedDB for reports. */
export function openStorage(database?: string): Promise<ReportStorage>;
