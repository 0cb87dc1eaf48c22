import { fromBase64 } from '../bytes.ts'
import type { FileRecord } from './records.ts'

/**
 * The bytes of a small file are in its record, because a blob costs much more: two syncs and at least one block of the
 * file system, or a request to S3. They are written with the commit that uses the file.
 */

/** The largest small file, if the registry is given no other limit. */
export const SMALL_FILE_BYTES = 4_096

/** No small file is larger, whatever limit the registry had when it was stored. */
export const MAX_SMALL_FILE_BYTES = 65_536

/** The bytes in the record of a small file; none if they are damaged. `undefined` for any other file. */
export const contentOf = ({ content }: FileRecord): Uint8Array | undefined =>
  content === undefined ? undefined : (fromBase64(content) ?? new Uint8Array())
