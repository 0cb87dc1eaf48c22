import { MAX_CHECKPOINT_TOKENS } from '../../../core/verify/index.ts'
import { DAY_MS, httpUrls, integer, listOf, oneOf, optional, path, setting } from '../setting.ts'

export const timestamps = {
  tsa: setting(oneOf('local', 'rfc3161', 'none'), {
    fallback: 'local',
    doc: 'Timestamp authority for checkpoints: the embedded one (for one server, not for shared records), those of EVIDENCE_TSA_URL, or none',
  }),
  tsaUrl: setting(httpUrls, {
    fallback: [],
    shownFallback: 'none',
    secret: true,
    doc: 'Timestamp authorities (RFC 3161). A URL can contain a name and password, which are sent over https only',
  }),
  tsaCa: setting(listOf('paths', path.parse), {
    fallback: [],
    shownFallback: 'none',
    doc: 'PEM file with the trust anchors of each authority of EVIDENCE_TSA_URL, in the same order',
  }),
  tsaPolicy: setting(
    listOf('dotted object identifiers (or empty: the authority chooses)', (value) =>
      value === '' || /^[0-2](\.\d+)+$/.test(value) ? value : undefined,
    ),
    {
      fallback: [],
      shownFallback: 'each authority chooses',
      doc: 'Policy that each authority must use, in the same order',
    },
  ),
  tsaQuorum: optional(integer(1, MAX_CHECKPOINT_TOKENS), {
    shownFallback: 'more than half of them',
    doc: 'Number of authorities that must have stamped a checkpoint',
  }),
  tsaIntervalMs: setting(integer(0, DAY_MS), {
    fallback: 0,
    doc: 'Least time between stamps. 0: the next one begins when the previous one is complete',
  }),
  tsaTimeoutMs: setting(integer(1, 600_000), { fallback: 10_000, doc: 'Time limit for one stamp' }),
  tsaRevocation: setting(oneOf('none', 'public', 'any'), {
    fallback: 'public',
    doc: 'Where CRLs and OCSP responses are fetched from: nowhere, public addresses, or any address (for a CA in your own network)',
  }),
} as const
