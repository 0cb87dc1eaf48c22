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

/** What is opened, or done with what is open, while a file operation fails. */
interface Case {
  readonly fails: Operation
  readonly startsWith: RegExp
  readonly prepare: (t: TestContext, faulty: FaultyFiles) => Promise<() => Promise<unknown>>
}

const CASES: Readonly<Record<string, Case>> = {
  'opening blobs': {
    fails: 'mkdir',
    startsWith: /^The blob directory .* cannot be used: /,
    prepare: async (t, { files }) => {
      const directory = join(await temporaryFor(t), 'blobs')
      return () => openLocalBlobs(directory, { files })
    },
  },
  'opening blobs whose new folder is lost': {
    fails: 'open',
    startsWith: /^The blob directory .* cannot be used: /,
    prepare: async (t, { files }) => {
      const directory = join(await temporaryFor(t), 'blobs')
      return () => openLocalBlobs(directory, { files })
    },
  },
  'writing a blob': {
    fails: 'write',
    startsWith: /^Blob k could not be written: /,
    prepare: async (t, { files }) => {
      const blobs = await openLocalBlobs(await temporaryFor(t), { files })
      t.after(() => blobs.close())
      return () => blobs.put('k', inChunks(new Uint8Array(100), 10), { maxBytes: 1_000 })
    },
  },
  'opening the ledger': {
    fails: 'open',
    startsWith: /^The (?:directory .* of the local ledger cannot be used|file .*ledger\.key could not be \w+): /,
    prepare: async (t, { files }) => {
      const { open } = await ledgerDirectory(t)
      return () => open({ files })
    },
  },
  'writing to the ledger': {
    fails: 'write',
    startsWith: /^The local ledger cannot be written: /,
    prepare: async (t, { files }) => {
      const ledger = await (await ledgerDirectory(t)).open({ files })
      const { raw } = await ledger.prepare({ checkpoint: input() })
      return () => ledger.broadcast(raw)
    },
  },
  'opening the timestamp authority': {
    fails: 'mkdir',
    startsWith: /^The timestamp directory .* cannot be used: /,
    prepare: async (t, { files }) => {
      const directory = join(await temporaryFor(t), 'tsa')
      return () => openLocalTsa(directory, { clock: new ManualClock(), files })
    },
  },
  'opening the timestamp authority whose new folder is lost': {
    fails: 'open',
    startsWith: /^The timestamp directory .* cannot be used: /,
    prepare: async (t, { files }) => {
      const directory = join(await temporaryFor(t), 'tsa')
      return () => openLocalTsa(directory, { clock: new ManualClock(), files })
    },
  },
}

describe('errors of the file system name the cause and what to do', () => {
  for (const [name, { fails, startsWith, prepare }] of Object.entries(CASES))
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
