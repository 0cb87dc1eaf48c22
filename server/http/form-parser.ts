import type { Middleware } from 'koa'
import { loadKoaBody, NO_PARSER } from './body-parser.ts'
import { boundaryOf } from './form-syntax.ts'
import type { GuardedBody } from './guarded-body.ts'

/** Gets the bytes of one part of a form. */
export interface PartSink {
  write(chunk: Uint8Array): void
  end(): void
}

/** Gets the parts of one form. It must not throw. */
export interface PartsReader {
  /** Begins a part. The headers hold bytes as characters. `undefined`: its bytes are not needed. */
  begin(headers: Readonly<Record<string, string>>): PartSink | undefined
}

const readers = new WeakMap<object, PartsReader>()
let parser: Promise<Middleware> | undefined

/** The parser for a guarded body: koa-body with formidable. It is made once, because koa-body checks its options. */
export function formParserFor(guard: GuardedBody, reader: PartsReader): Promise<Middleware> {
  readers.set(guard, reader)
  return (parser ??= loadParser())
}

/** The members of a form of formidable that its plug-ins use, and its declarations lack. */
interface PluggedForm {
  readonly headers: GuardedBody['headers']
  readonly req: object
  ended: boolean
  emit(event: 'end'): boolean
}

/**
 * A plug-in of formidable that calls the reader directly. That of formidable makes an object, a promise and three
 * listeners for each event of its parser.
 */
async function loadParser(): Promise<Middleware> {
  const [{ koaBody }, { MultipartParser }] = await Promise.all([loadKoaBody(), import('formidable')])

  class FormParser extends MultipartParser {
    readonly #form: PluggedForm
    readonly #reader: PartsReader | undefined
    #headers: Record<string, string> = {}
    #name = ''
    #value = ''
    #sink: PartSink | undefined

    constructor(form: PluggedForm) {
      super()
      this.#form = form
      this.#reader = readers.get(form.req)
      this.initWithBoundary(boundaryOf(form.headers['content-type'] ?? '') ?? '')
    }

    override _handleCallback(event: string, buffer: Buffer, start = 0, end = 0): void {
      switch (event) {
        case 'partBegin':
          this.#headers = {}
          return
        case 'headerField':
          this.#name += buffer.toString('latin1', start, end)
          return
        case 'headerValue':
          this.#value += buffer.toString('latin1', start, end)
          return
        case 'headerEnd':
          this.#headers[this.#name.toLowerCase()] = this.#value
          this.#name = this.#value = ''
          return
        case 'headersEnd':
          this.#sink = this.#reader?.begin(this.#headers)
          return
        case 'partData':
          // It reuses the buffer of a line that looked like a boundary, but this always begins like the boundary:
          // `FormSyntax` rejects what goes on differently.
          if (start !== end) this.#sink?.write(buffer.subarray(start, end))
          return
        case 'partEnd':
          this.#sink?.end()
          return
        case 'end':
          this.#form.ended = true
          this.#form.emit('end')
      }
    }
  }

  function plugIn(this: PluggedForm): object {
    return { _parser: new FormParser(this) }
  }
  return koaBody({ ...NO_PARSER, multipart: true, formidable: { enabledPlugins: [plugIn] } })
}
