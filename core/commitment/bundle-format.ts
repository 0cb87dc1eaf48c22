/** What the writer of bundles, their schema and their verifier share. It imports nothing, so that all of them can. */

/** The `format` member of every bundle. */
export const BUNDLE_FORMAT = 'evidence-registry.bundle'
/** The `format` member of the first line of every export: a line for each evidence of a company, with its bundle. */
export const EXPORT_FORMAT = 'evidence-registry.export'
/** A bundle is made and verified in memory. */
export const MAX_BUNDLE_EVENTS = 10_000
/** The longest bundle, in UTF-16 code units. */
export const MAX_BUNDLE_LENGTH = 32 * 1024 * 1024
/** How many values may be separated in a bundle and in all texts in it, which are JSON as well. */
export const MAX_SEPARATORS = 2_000_000

/** What a text takes of these limits. */
export interface Extent {
  readonly length: number
  readonly separators: number
}

/** The extent of a text. Does not count the separators of a text that is too long. */
export function extentOf(text: string): Extent {
  let separators = 0
  for (let i = 0; i < text.length && text.length <= MAX_BUNDLE_LENGTH; i++) {
    const char = text.charCodeAt(i)
    if (char === 0x2c || char === 0x5b || char === 0x7b) separators++
  }
  return { length: text.length, separators }
}

/** Whether a bundle of this extent can be read in a bounded time. */
export const isReadable = ({ length, separators }: Extent): boolean =>
  length <= MAX_BUNDLE_LENGTH && separators <= MAX_SEPARATORS

/** The most checkpoints of a bundle: each has a signature. */
export const MAX_CHECKPOINTS = 1_000
/** Of each checkpoint in a bundle. */
export const MAX_COSIGNATURES = 32
/** Also how many authorities a sealer may have: with more, no bundle and no proof could hold a whole stamp. */
export const MAX_CHECKPOINT_TOKENS = 8
export const MAX_ANCHORS = 4
/** The most receipts of erasures of a bundle. */
export const MAX_RECEIPTS = 1_000
