import { describe } from 'node:test'
import { createRfc3161Authority } from '../../../adapters/rfc3161/index.ts'
import { timestampAuthorityContract } from '../../contract/index.ts'
import { OpensslAuthority, skipWithoutOpenssl } from '../../support/openssl.ts'
import { ofSuite } from '../../support/of-suite.ts'

/** Only ends a test that hangs: several openssl processes at once are slow on a busy machine. */
const LONG_TIMEOUT_MS = 300_000

describe('openssl ts behind HTTP', { skip: skipWithoutOpenssl() }, () => {
  const openssl = ofSuite(() => OpensslAuthority.open())

  timestampAuthorityContract('rfc3161', async () => {
    const trustAnchors = [openssl().trustAnchor]
    return {
      authority: createRfc3161Authority({ url: openssl().url, trustAnchors, timeoutMs: LONG_TIMEOUT_MS }),
      trustAnchors,
    }
  })
})
