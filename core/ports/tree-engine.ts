/**
 * Hashes Merkle trees (RFC 6962) over packed bytes. Engines differ in speed only: all of them return the same bytes.
 * They do not change their input, which the caller may use again when the promise settles. The result belongs to the
 * caller.
 *
 * @throws `ENGINE_FAILED` for a failure after which the call can be repeated, `UNAVAILABLE` if too many calls wait
 * already, `CLOSED` after `close`
 */
export interface TreeEngine {
  /**
   * Builds the tiles over one row of the tree.
   *
   * @param row - n × 32 bytes
   * @param kind - `entries`: each is hashed to its leaf H(00 ‖ entry) first; `nodes`: used as they are
   * @returns tiles of up to 256 hashes in order, each in the layout of core/log/tree/tile.ts. Only the last one may be
   * partial. Neighbouring tiles may be views of one buffer.
   */
  tiles(row: Uint8Array, kind: 'entries' | 'nodes', signal?: AbortSignal): Promise<readonly Uint8Array[]>
  close(): Promise<void>
}
