/** Finds the place of the error in a text that `JSON.parse` rejects, whose messages often name none. */

/**
 * Where a text stops being JSON, such as `line 3, column 5`; without the line if there is only one. Columns are UTF-16
 * code units from 1. Requires nesting that is not too deep for a recursion.
 */
export function jsonErrorPlace(text: string): string {
  const at = new Reader(text).errorAt()
  const column = `column ${at - text.slice(0, at).lastIndexOf('\n')}`
  return text.includes('\n') ? `line ${lineAt(text, at)}, ${column}` : column
}

function lineAt(text: string, index: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < index; at = text.indexOf('\n', at + 1)) line++
  return line
}

const SPACE = /[ \t\n\r]*/y
const NUMBER_OR_LITERAL = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/**
 * Reads JSON by the grammar of RFC 8259. Each method returns whether the text has what it reads, and otherwise stops at
 * the character that does not fit.
 */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** The index of the first character that does not fit; the length of the text if it ends too early. */
  errorAt(): number {
    if (this.#value()) this.#match(SPACE)
    return this.#at
  }

  #value(): boolean {
    this.#match(SPACE)
    if (this.#accept('{')) return this.#items('}', () => this.#member())
    if (this.#accept('[')) return this.#items(']', () => this.#value())
    return this.#text[this.#at] === '"' ? this.#string() : this.#match(NUMBER_OR_LITERAL)
  }

  #items(close: string, readItem: () => boolean): boolean {
    this.#match(SPACE)
    if (this.#accept(close)) return true
    for (;;) {
      if (!readItem()) return false
      this.#match(SPACE)
      if (this.#accept(close)) return true
      if (!this.#accept(',')) return false
    }
  }

  #member(): boolean {
    this.#match(SPACE)
    if (!this.#string()) return false
    this.#match(SPACE)
    return this.#accept(':') && this.#value()
  }

  /** A loop, because a regular expression for long texts would need too much of the stack. */
  #string(): boolean {
    if (!this.#accept('"')) return false
    while (this.#at < this.#text.length) {
      if (this.#accept('"')) return true
      if (this.#text.charCodeAt(this.#at) < 0x20) return false
      if (this.#text[this.#at] !== '\\') this.#at++
      else if (!this.#match(ESCAPE)) return false
    }
    return false
  }

  #accept(char: string): boolean {
    if (this.#text[this.#at] !== char) return false
    this.#at++
    return true
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    const isMatch = pattern.test(this.#text)
    if (isMatch) this.#at = pattern.lastIndex
    return isMatch
  }
}
