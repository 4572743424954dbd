/** How numbers are written: three figures, superscript powers, units beside them. */

import { real } from "./page_report";
import type { Budget, ErrorTerm, Real } from "./report";

const RAISED: Record<string, string> = { "-": "⁻", "0": "⁰", "1": "¹", "2": "²", "3": "³", "4": "⁴", "5": "⁵", "6": "⁶", "7": "⁷", "8": "⁸", "9": "⁹" };

export function figure(value: Real | null | undefined, digits = 3): string {
  const number = real(value);
  if (number === null) return "–";
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size >= 1e-3 && size < 1e5) return signed(String(Number(number.toPrecision(digits))));
  const [mantissa = "", exponent = "0"] = number.toExponential(digits - 1).split("e");
  return `${signed(mantissa)}×10${raised(Number(exponent))}`;
}

function signed(text: string): string {
  return text.replace("-", "−");
}

export function raised(exponent: number): string {
  return [...String(exponent)].map((one) => RAISED[one] ?? one).join("");
}

/** All that a float64 holds, for values people look up elsewhere. */
export function exact(value: Real): string {
  const number = real(value);
  return number === null || !Number.isFinite(number) ? figure(value) : signed(String(Number(number.toPrecision(9))));
}

/** How many times over a yardstick: 0.21×, 36×. */
export function times(value: Real | null | undefined): string {
  const ratio = real(value);
  if (ratio === null) return "not judged";
  if (ratio === Infinity) return "none is allowed";
  if (!Number.isFinite(ratio)) return `${figure(ratio)}×`;
  if (ratio === 0) return "0×";
  if (ratio < 0.005) return "<0.01×";
  if (ratio < 10) return `${ratio.toFixed(2)}×`;
  return ratio < 1e4 ? `${Math.round(ratio)}×` : `${figure(ratio, 2)}×`;
}

/** How much of its budget an error uses up; "<" where only a part of the budget was drawn. */
export function used(budget: Budget): string {
  const text = times(budget.ratio);
  return budget.lower_bound && /^0\.|^[1-9]/.test(text) ? `<${text}` : text;
}

export function percent(value: Real | null | undefined): string {
  const share = real(value);
  if (share === null) return "–";
  if (Number.isNaN(share)) return "NaN";
  if (share > 0.9995 && share < 1) return "100%";
  if (share > 0 && share < 0.001) return "<0.1%";
  return signed(`${(share * 100).toFixed(Math.abs(share) < 0.1 ? 1 : 0)}%`);
}

export function decibels(value: Real | null): string {
  const number = real(value);
  if (number === null) return "–";
  return number === Infinity ? "exact" : `${number.toFixed(1)} dB`;
}

export function shape(sizes: number[]): string {
  return sizes.length === 0 ? "scalar" : sizes.join("×");
}

/** The largest error of a part, and NaN or infinities that stand on one side only. */
export function size(part: ErrorTerm): string {
  const { max_abs, differing, nonfinite_mismatch } = part.distance;
  if (max_abs === null && nonfinite_mismatch === 0) return `${differing} differ`;
  const misplaced = nonfinite_mismatch > 0 ? `, ${nonfinite_mismatch} NaN/∞` : "";
  return figure(max_abs) + misplaced;
}
