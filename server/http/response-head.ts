import type { ServerResponse } from 'node:http'

/**
 * The headers of one response, as the list that `writeHead` takes: Node's `setHeader` costs about a microsecond for
 * each. A name has the same letters everywhere.
 */
export class ResponseHead {
  /** Names and values in turn. */
  readonly #list: string[]

  /** `shared`: names and values in turn. */
  constructor(requestId: string, shared: readonly string[]) {
    this.#list = ['X-Request-Id', requestId, ...shared]
  }

  has(name: string): boolean {
    return this.#indexOf(name) !== -1
  }

  /** Sets a header, or replaces it. */
  set(name: string, value: string): void {
    const at = this.#indexOf(name)
    if (at === -1) this.#list.push(name, value)
    else this.#list[at + 1] = value
  }

  setAll(headers: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(headers)) this.set(name, value)
  }

  /** Adds an item to a header that is a list. */
  append(name: string, item: string): void {
    const at = this.#indexOf(name)
    this.set(name, at === -1 ? item : `${this.#list[at + 1]}, ${item}`)
  }

  /** Begins a response that is written without Koa. */
  write(response: ServerResponse, status: number): void {
    response.writeHead(status, this.#list)
  }

  /** Sets the headers of a response that Koa writes. */
  applyTo(response: ServerResponse): void {
    for (let at = 0; at < this.#list.length; at += 2) response.setHeader(this.#list[at] ?? '', this.#list[at + 1] ?? '')
  }

  #indexOf(name: string): number {
    for (let at = 0; at < this.#list.length; at += 2) if (this.#list[at] === name) return at
    return -1
  }
}
