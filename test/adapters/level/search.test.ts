import { it } from 'node:test'
import fc from 'fast-check'
import { openLevelRecords } from '../../../adapters/level/index.ts'
import { checkScenario, scenario } from '../../support/evidence-model.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'

it('filtered and sorted lists in LevelDB return the same as a slow reference', () =>
  fc.assert(
    fc.asyncProperty(scenario, async (each) => {
      const directory = await makeTemporary()
      try {
        await checkScenario(await openLevelRecords(directory), each)
      } finally {
        await removeTemporary(directory)
      }
    }),
    { numRuns: 8 },
  ))
