import { move } from 'piscina'
import { makePackedEvidences } from '../../core/registry/evidence/bulk-creates.ts'

/** Makes evidences, in memory that is transferred to the calling thread without a copy. */
export const evidences = (request: string): ReturnType<typeof move> => move(makePackedEvidences(request))
