import { openLocalTsa } from '../../../adapters/local-tsa/index.ts'
import { timestampAuthorityContract } from '../../contract/index.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'

timestampAuthorityContract('local', async () => {
  const directory = await makeTemporary()
  const clock = new ManualClock()
  const authority = await openLocalTsa(directory, { clock })
  return {
    authority,
    trustAnchors: [authority.trustAnchor],
    now: () => clock.now(),
    dispose: () => removeTemporary(directory),
  }
})
