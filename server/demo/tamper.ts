/** Kinds of responses in which one byte can be changed. */
export const TAMPER_KINDS = ['event', 'proof', 'stamp', 'file', 'log'] as const
export type TamperKind = (typeof TAMPER_KINDS)[number]

interface Target {
  /** Path of the requests. */
  readonly path: RegExp
  /** The character after this match is changed, or the first byte of a body. */
  readonly after: RegExp | 'bytes'
}

const FILE = /\/file\?fileId=/

const TARGETS: Readonly<Record<TamperKind, Target>> = {
  event: { path: /disclose=true/, after: /"salt":"/ },
  proof: { path: /\/merkle\/proof\//, after: /"hash":"/ },
  stamp: { path: /\/merkle\/verify\//, after: /"token":".{400}/ },
  file: { path: FILE, after: 'bytes' },
  log: { path: /\/tile\/openings\//, after: /^.*\n.{100}/ },
}

/** Changes one byte in the first response of each kind. */
export class Tamper {
  readonly #remaining: Set<TamperKind>

  constructor(kinds: readonly TamperKind[]) {
    this.#remaining = new Set(kinds)
  }

  /** The response to a request of this address, maybe with one byte changed. */
  async change(url: string, response: Response): Promise<Response> {
    const init = { status: response.status, headers: response.headers }
    if (!response.ok || response.body === null) return response
    if (!FILE.test(url)) return new Response(this.#text(url, await response.text()), init)
    const changed = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => controller.enqueue(this.#bytes(url, chunk)),
    })
    return new Response(response.body.pipeThrough(changed), init)
  }

  #text(path: string, text: string): string {
    for (const kind of this.#remaining) {
      const { path: pattern, after } = TARGETS[kind]
      const match = after !== 'bytes' && pattern.test(path) ? after.exec(text) : null
      if (match === null) continue
      this.#remaining.delete(kind)
      const at = match.index + match[0].length
      return text.slice(0, at) + (text[at] === '1' ? '2' : '1') + text.slice(at + 1)
    }
    return text
  }

  #bytes(path: string, chunk: Uint8Array): Uint8Array {
    const kind = [...this.#remaining].find((each) => TARGETS[each].after === 'bytes' && TARGETS[each].path.test(path))
    if (kind === undefined || chunk.length === 0) return chunk
    this.#remaining.delete(kind)
    const changed = chunk.slice()
    changed[0] = (changed[0] ?? 0) ^ 1
    return changed
  }
}
