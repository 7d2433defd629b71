-- Who could execute something could approve calls of tools as well.
UPDATE api_keys SET scopes = scopes || ',approve'
WHERE ',' || scopes || ',' LIKE '%,code,%' OR ',' || scopes || ',' LIKE '%,execute,%';
