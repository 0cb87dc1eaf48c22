import type { RecordStore, Version } from '../ports/index.ts'
import { decodeRecord } from '../store/record-codec.ts'
import { logKeys } from './keys.ts'
import type { LogIdentityRecord } from './records.ts'

/** The stored record of a log's identity, with the version that a commit checks. */
export interface StoredIdentity {
  readonly record: LogIdentityRecord
  readonly version: Version
}

/** Returns `undefined` if there is no log yet. */
export async function readIdentity(records: RecordStore): Promise<StoredIdentity | undefined> {
  const [entry] = await records.get([logKeys.identity()])
  const record = decodeRecord<LogIdentityRecord>(entry)
  return entry && record && { record, version: entry.version }
}

/** The origin of the log in a record store, `undefined` if there is no log yet. */
export const storedOrigin = async (records: RecordStore): Promise<string | undefined> =>
  (await readIdentity(records))?.record.origin
