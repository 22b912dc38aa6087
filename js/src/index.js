export { readMechanism } from "./mechanism.js";
export { Reporter, openStorage } from "./reports.js";
