import { SecondUseMap } from '../../adapters/kit/index.ts'
import type { EvidenceQuery, Known } from '../../core/index.ts'
import type { JsonReply } from './reply.ts'

/** What a reply takes beside its text. */
const OVERHEAD_CHARS = 300
/** Of about a thousand characters each, half as many fit. */
const REMEMBERED = 65_536

/** Where the next page of a list begins. */
export type PagePosition = Pick<EvidenceQuery, 'after' | 'cursor'>

/** A reply, or a part of a long one. */
export interface ReplyText extends JsonReply {
  /** Of a part: where the next one begins. */
  readonly next?: PagePosition | undefined
}

/** A reply with the state of the result that it shows. */
class KeptReply implements Known {
  readonly state: object
  readonly reply: ReplyText

  constructor(state: object, reply: ReplyText) {
    this.state = state
    this.reply = reply
  }
}

/**
 * Keeps replies from the second time on that they are made. The core says each time whether a kept one is still
 * correct, so another server may have changed what it shows.
 */
export class KeptReplies {
  readonly #kept: SecondUseMap<string, KeptReply>

  /** @param maxKeptChars - of all kept texts together */
  constructor(maxKeptChars: number) {
    const charsOf = ({ reply }: KeptReply): number => reply.text.length + OVERHEAD_CHARS
    this.#kept = new SecondUseMap(maxKeptChars, charsOf, REMEMBERED)
  }

  /**
   * The kept reply if it is still correct, otherwise a new one.
   *
   * @param key - two requests with the same key must have the same reply
   * @param read - reads the result, or returns `known` itself if it has not changed
   * @param render - must depend on nothing but the result
   */
  async read<T extends Known>(
    key: string,
    read: (known: KeptReply | undefined) => Promise<T | KeptReply>,
    render: (result: T) => ReplyText,
  ): Promise<ReplyText> {
    const result = await read(this.#kept.get(key))
    if (result instanceof KeptReply) return result.reply
    const { state } = result
    const reply = render(result)
    if (state !== undefined) this.#kept.set(key, () => new KeptReply(state, reply))
    return reply
  }
}
