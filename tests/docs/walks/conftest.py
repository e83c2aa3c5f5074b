from tests.integration.conftest import workshop as workshop
