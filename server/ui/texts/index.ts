/**
 * Every text that the dashboard shows, also about errors of the API, whose own texts are for programs. For another
 * language, translate this folder.
 */
export * from './access.ts'
export * from './categories.ts'
export * from './certificate.ts'
export * from './erasure.ts'
export * from './evidence.ts'
export * from './evidences.ts'
export * from './failures.ts'
export * from './import.ts'
export * from './log.ts'
export * from './navigation.ts'
export * from './overview.ts'
export * from './passport.ts'
export * from './share.ts'
export * from './sign-in.ts'
export * from './trust.ts'
export * from './verify.ts'
export * from './words.ts'
