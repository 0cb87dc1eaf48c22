/**
 * Makes evidences of large bulk creates in another thread, while the calling thread makes or commits other ones. It
 * changes nothing in the stores. `EventPool` of `evidence-registry/sealer` is one.
 *
 * @throws `ENGINE_FAILED` for a failure after which the call can be repeated, `CLOSED` after `close`
 */
export interface EventEngine {
  /**
   * Makes some of the evidences of one bulk create.
   *
   * @param request - a text that only the registry reads
   * @returns the packed evidences, in memory that belongs to the caller
   */
  makeEvidences(request: string): Promise<Uint8Array>
  /** Waits for the calls under way. */
  close(): Promise<void>
}
