import type { StampToken } from '../../core/log/records.ts'

/** A token of a stamp with no content, and these members. */
export const stampToken = (changes: Partial<StampToken>): StampToken => ({
  authority: 'a',
  assurance: 'operator',
  genTime: 0,
  serialNumber: '01',
  policy: '1.2',
  hashAlgorithm: 'sha256',
  imprint: '',
  token: '',
  trustAnchors: [],
  evidence: [],
  ...changes,
})
