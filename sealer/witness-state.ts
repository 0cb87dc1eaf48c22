import { logKeys } from '../core/log/keys.ts'
import type { WitnessesRecord, WitnessState } from '../core/log/records.ts'
import type { RecordStore } from '../core/ports/index.ts'
import { putRecord } from '../core/store/entries.ts'
import { readRecord } from '../core/store/read.ts'

/** What is known of one witness, by its verifier key. */
export const stateOf = (record: WitnessesRecord | undefined, vkey: string): WitnessState | undefined =>
  record?.witnesses.find((witness) => witness.vkey === vkey)

/** The record with changes of one witness. */
export function withWitness(record: WitnessesRecord, vkey: string, change: Partial<WitnessState>): WitnessesRecord {
  const { witnesses } = record
  return { ...record, witnesses: witnesses.map((each) => (each.vkey === vkey ? { ...each, ...change } : each)) }
}

/** Whether a checkpoint of this log was ever submitted to a witness. */
export const hasAskedWitnesses = async (records: RecordStore): Promise<boolean> =>
  (await readRecord(records, logKeys.witnesses())) !== undefined

/**
 * Notes that the log is sealed without witnesses, and so shows its newest checkpoint. With witnesses again, it must not
 * show the one that was submitted before.
 */
export async function noteUnwitnessed(records: RecordStore): Promise<void> {
  const read = await readRecord(records, logKeys.witnesses())
  if (read === undefined || read.record.size === 0) return
  // On a conflict another server without witnesses notes it.
  const record = { ...read.record, size: 0, shown: 0 }
  await records.commit({ checks: [read.check], writes: [putRecord(logKeys.witnesses(), record)] })
}

/**
 * Ends the alarm of a witness, so that it is asked again.
 *
 * @param vkey - its verifier key
 * @returns false if it has no alarm
 */
export async function resumeWitness(records: RecordStore, vkey: string): Promise<boolean> {
  for (;;) {
    const read = await readRecord(records, logKeys.witnesses())
    if (read === undefined || (stateOf(read.record, vkey)?.alarm ?? null) === null) return false
    const writes = [putRecord(logKeys.witnesses(), withWitness(read.record, vkey, { alarm: null }))]
    if ((await records.commit({ checks: [read.check], writes })).ok) return true
  }
}
