/** The exact text that was hashed, and the salt (64 hex digits) it was hashed with. */
export interface DisclosedText {
  readonly text: string
  readonly salt: string
}

/**
 * Everything it takes to recompute an event's txId (core/README.md, the event format). Verifiers hash the texts as they
 * are; they never canonicalize. What was erased is absent here, and present only as a hash in `header` or `filesText`.
 */
export interface Disclosure {
  /** The 120 bytes whose SHA-256 is the txId, hex. */
  readonly opening: string
  /** Canonical JSON of the header. */
  readonly header: string
  /** Canonical JSON of the map from file id to file hash. */
  readonly filesText: string
  /** 64 hex digits. */
  readonly filesSalt: string
  /** By field name. */
  readonly fields: Readonly<Record<string, DisclosedText>>
  /** By file id. */
  readonly files: Readonly<Record<string, DisclosedText>>
}
