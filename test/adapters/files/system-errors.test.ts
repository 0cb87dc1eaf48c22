import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openLocalBlobs } from '../../../adapters/files/index.ts'
import { inChunks } from '../../contract/index.ts'
import { openLocalTsa } from '../../../adapters/local-tsa/index.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { FaultyFiles, type Operation } from '../../support/faulty-files.ts'
import { input, ledgerDirectory } from '../../support/ledger-directory.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFor } from '../../support/temporary.ts'

const REMEDIES: readonly (readonly [code: string, remedy: RegExp])[] = [
  ['ENOSPC', /the disk is full; free some space \(ENOSPC\)/],
  ['EROFS', /the file system is read-only; .* mount it writable \(EROFS\)/],
  ['EACCES', /no access; correct the owner or the mode .*\(EACCES\)/],
  ['ENOENT', /missing; mount its volume, or restore it \(ENOENT\)/],
]

/** Prepares what is opened, or done with what is open, while a file operation fails. */
type Prepare = (t: TestContext, faulty: FaultyFiles) => Promise<() => Promise<unknown>>

const openBlobs: Prepare = async (t, { files }) => {
  const directory = join(await temporaryFor(t), 'blobs')
  return () => openLocalBlobs(directory, { files })
}
const writeBlob: Prepare = async (t, { files }) => {
  const blobs = await openLocalBlobs(await temporaryFor(t), { files })
  t.after(() => blobs.close())
  return () => blobs.put('k', inChunks(new Uint8Array(100), 10), { maxBytes: 1_000 })
}
const openLedger: Prepare = async (t, { files }) => {
  const { open } = await ledgerDirectory(t)
  return () => open({ files })
}
const writeLedger: Prepare = async (t, { files }) => {
  const ledger = await (await ledgerDirectory(t)).open({ files })
  const { raw } = await ledger.prepare({ checkpoint: input() })
  return () => ledger.broadcast(raw)
}
const openTsa: Prepare = async (t, { files }) => {
  const directory = join(await temporaryFor(t), 'tsa')
  return () => openLocalTsa(directory, { clock: new ManualClock(), files })
}

const BLOBS = /^The blob directory .* cannot be used: /
const LEDGER = /^The (?:directory .* of the local ledger cannot be used|file .*ledger\.key could not be \w+): /
const TSA = /^The timestamp directory .* cannot be used: /

const CASES: readonly (readonly [name: string, fails: Operation, startsWith: RegExp, Prepare])[] = [
  ['opening blobs', 'mkdir', BLOBS, openBlobs],
  ['opening blobs whose new folder is lost', 'open', BLOBS, openBlobs],
  ['writing a blob', 'write', /^Blob k could not be written: /, writeBlob],
  ['opening the ledger', 'open', LEDGER, openLedger],
  ['writing to the ledger', 'write', /^The local ledger cannot be written: /, writeLedger],
  ['opening the timestamp authority', 'mkdir', TSA, openTsa],
  ['opening the timestamp authority whose new folder is lost', 'open', TSA, openTsa],
]

describe('errors of the file system name the cause and what to do', () => {
  for (const [name, fails, startsWith, prepare] of CASES)
    for (const [code, remedy] of REMEDIES)
      // A missing ledger.key is not a failure: a new ledger creates it. Neither is a missing folder above a new one.
      if (code !== 'ENOENT' || (name !== 'opening the ledger' && fails !== 'mkdir'))
        it(`${name}: ${code}`, async (t) => {
          const faulty = new FaultyFiles()
          const act = await prepare(t, faulty)
          faulty.arm({ operation: fails, nth: 1, fault: 'not applied', code })
          await assert.rejects(act(), (error) => {
            assert.ok(isRegistryError(error), String(error))
            assert.match(error.message, startsWith)
            assert.match(error.message, remedy)
            return true
          })
        })
})
