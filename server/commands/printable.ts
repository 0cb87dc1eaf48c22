/**
 * A text from a stranger, without characters that control a terminal or change the direction of the text: they are
 * written as `\u{HEX}`.
 */
export const printable = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
