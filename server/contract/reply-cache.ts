import { SecondUseMap } from '../../adapters/kit/index.ts'
import type { EvidenceQuery, Cacheable } from '../../core/index.ts'
import { encodeLong, type JsonReply } from './reply.ts'

/** What a reply takes beside its text and its key. */
const OVERHEAD_CHARS = 300
/** Of about a thousand characters each, half as many fit. */
const REMEMBERED = 65_536

/** Where the next page of a list begins. */
export type PagePosition = Pick<EvidenceQuery, 'after' | 'cursor'>

/** A reply, or a part of a long one. */
export interface ReplyText extends JsonReply {
  /** Of a part: where the next one begins. */
  readonly next?: PagePosition | undefined
  /** Of a part: how many items it has, and of how many items its list consists at least. */
  readonly items?: number
  readonly count?: number
}

/** A reply with the state of the result that it shows. */
class CachedReply implements Cacheable {
  readonly state: object
  readonly reply: ReplyText
  /** What it counts for the limit, with its key: clients choose the targets of their requests. */
  readonly chars: number

  constructor(key: string, state: object, reply: ReplyText) {
    this.state = state
    // Once: allocating and encoding 45 KB took as long as all else.
    const encoded = encodeLong(reply.text)
    this.reply = { ...reply, encoded }
    const encodedBytes = typeof encoded === 'string' ? 0 : encoded.length
    this.chars = key.length + reply.text.length + encodedBytes + OVERHEAD_CHARS
  }
}

/**
 * Caches replies from the second time on that they are made. The core says each time whether a cached one is still
 * correct, so another server may have changed what it shows.
 */
export class ReplyCache {
  readonly #replies: SecondUseMap<string, CachedReply>

  /** @param maxChars - of all cached texts and keys together */
  constructor(maxChars: number) {
    this.#replies = new SecondUseMap(maxChars, ({ chars }) => chars, REMEMBERED)
  }

  /**
   * The cached reply if it is still correct, otherwise a new one.
   *
   * @param key - two requests with the same key must have the same reply
   * @param read - reads the result, or returns `cached` itself if it has not changed
   * @param render - must depend on nothing but the result
   */
  async read<T extends Cacheable>(
    key: string,
    read: (cached: CachedReply | undefined) => Promise<T | CachedReply>,
    render: (result: T) => ReplyText,
  ): Promise<ReplyText> {
    const result = await read(this.#replies.get(key))
    if (result instanceof CachedReply) return result.reply
    const { state } = result
    const reply = render(result)
    if (state !== undefined) this.#replies.set(key, () => new CachedReply(key, state, reply))
    return reply
  }
}
