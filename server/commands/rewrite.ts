import { resolve } from 'node:path'
import { endErasures } from '../../core/ops/index.ts'
import { assertHasRecords } from '../startup/markers.ts'
import { OpenParts } from '../startup/open-parts.ts'
import { openErased } from '../startup/records.ts'
import { DATA_DIR, defineCommand } from './command.ts'
import { ProgressLine } from './terminal.ts'

/** `evidence-registry rewrite`. */
export const rewriteCommand = defineCommand({
  name: 'rewrite',
  description: `
Removes what was erased from the files of the record store at once: old values, and the keys of index entries that
LevelDB keeps in its files while it is open. Afterwards no erasure is pending. Stop the server first; its next start
does the same.`,
  flags: { 'data-dir': DATA_DIR },
  success: 'the files hold nothing that was erased',
  failure: 'a store that cannot be used',
  async run(_, config) {
    if (config.records === 'level') assertHasRecords(resolve(config.dataDir))
    const line = new ProgressLine()
    const onStep = (erasures: number): void => line.show(`erasures to finish: ${erasures}`)
    const onFailure = (error: unknown): never => {
      throw error
    }
    return OpenParts.use(async (parts) => {
      const { records } = await parts.add(openErased(config, { onStep, onFailure }), (opened) => opened.records)
      line.print(`${await endErasures(records)} erasures finished: the files hold nothing that was erased`)
      return 0
    })
  },
})
