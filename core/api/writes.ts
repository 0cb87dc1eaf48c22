/** Options of the operations that write, except those on files and updates of source systems. */
export interface WriteOptions {
  /**
   * 1 to 255 printable ASCII characters. If the same principal repeats the same call with the same key within 24 hours,
   * the registry returns the first result and writes nothing. The same key with other input throws
   * `IDEMPOTENCY_KEY_REUSED`.
   */
  readonly idempotencyKey?: string
}

/** Options of an update of an evidence. */
export interface UpdateOptions extends WriteOptions {
  /**
   * The version of the last event that the caller has seen. If the evidence has another one, the update throws
   * `VERSION_CONFLICT`.
   */
  readonly ifVersion?: number
}
